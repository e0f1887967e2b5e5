// SPDX-License-Identifier: Apache-2.0
// Runs a random program on a channel of its own and says what became of each value. Any thread.
#pragma once

#include <string>
#include <vector>

#include "regrow/runtime/options.h"
#include "tests/fuzz/program.h"

namespace regrow::fuzz {

struct Outcome {
  enum class Kind : std::uint8_t { unseen, value, error };
  Kind kind = Kind::unseen;
  HostArray value;
  std::string error;  // text of the original failure, and the step that it names
};

struct Settings {
  Options options;
  bool memory_by_hand = true;  // carry out drops and swaps; otherwise skip them
  bool read_all = false;       // read every value as soon as it is made
};

std::string to_string(const Settings& settings);

// One outcome a value. Throws std::logic_error when something happens that no setting may show (several readers who disagree).
std::vector<Outcome> run(const Program& program, const Settings& settings);

// Empty, or what differs.
std::string difference(const std::vector<Outcome>& expected, const std::vector<Outcome>& seen);

}  // namespace regrow::fuzz
