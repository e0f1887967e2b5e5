// SPDX-License-Identifier: Apache-2.0
// Random programs over a channel: what a user could have written, as data, so that the same one runs under many settings. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "regrow/ops/op.h"
#include "regrow/tensor/host_array.h"

namespace regrow::fuzz {

using Value = std::int32_t;  // a tensor of the program: its number in order of creation

enum class StepKind : std::uint8_t {
  put,            // value -> outputs[0]
  apply,          // op(inputs) -> outputs
  callback,       // callback(inputs) -> outputs
  export_import,  // outputs[0] is inputs[0] taken out as a device tensor and put back
  budget,         // of `bytes` on `device`, 0: none
  del, drop, swap_out, swap_in,
  get_value, get_shape, wait, crowd,  // crowd: several threads read inputs[0] at once
  sync, seed,
};

enum class CallbackKind : std::uint8_t {
  identity,
  twice,
  picky /* throws if its first element is positive */,
  source /* shape left open */
};

struct Step {
  StepKind kind = StepKind::sync;
  std::string op;
  std::vector<AttrArg> attrs;
  CallbackKind callback = CallbackKind::identity;
  std::vector<Value> inputs;
  std::vector<Value> outputs;
  HostArray value;
  bool cached = false;
  Device device;
  std::size_t bytes = 0;
  RandomState random;          // of seeded operators with inputs
  bool explicit_random = false;
};

struct Program {
  std::vector<Step> steps;
  int values = 0;
};

// The same seed gives the same program. `length` is the number of steps.
Program generate(std::uint64_t seed, int length);
std::string to_string(const Program& program);

}  // namespace regrow::fuzz
