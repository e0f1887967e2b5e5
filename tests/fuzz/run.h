// SPDX-License-Identifier: Apache-2.0
// Runs a random program on a channel of its own and says what became of each value. Any thread.
#pragma once

#include <string>
#include <vector>

#include "regrow/runtime/options.h"
#include "tests/fuzz/program.h"

namespace regrow::fuzz {

struct Outcome {
  // refused: by a budget or the disk, or made from something that was; no more is known of it then.
  enum class Kind : std::uint8_t { unseen, value, error, refused };
  Kind kind = Kind::unseen;
  HostArray value;
  std::string error;  // text of the original failure or refusal, and the step that it names
};

struct Settings {
  Options options;
  bool memory_by_hand = true;  // carry out drops and swaps; otherwise skip them
  bool budgets = false;        // carry out what the program says of budgets
  bool spills = false;         // with a spill directory, whose disk fails now and then
  bool read_all = false;       // read every value as soon as it is made
};

std::string to_string(const Settings& settings);

// What a program did beside its outcomes.
struct Work {
  std::uint64_t evictions = 0, recomputed = 0, spilled_bytes = 0;
};

// One outcome a value. Adds to `work`. Throws std::logic_error when something happens that no setting may show (several readers who
// disagree).
std::vector<Outcome> run(const Program& program, const Settings& settings, Work& work);

// Empty, or what differs: bits or errors. What a budget refused is no difference.
std::string difference(const std::vector<Outcome>& expected, const std::vector<Outcome>& seen);

}  // namespace regrow::fuzz
