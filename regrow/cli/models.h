// SPDX-License-Identifier: Apache-2.0
// The models that `regrow train` knows: an open list, one entry each. Main thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "regrow/regrow.h"

namespace regrow::cli {

// A network for images (n, 1, 28, 28) and ten classes.
struct Model {
  nn::Module module;                                   // its parameters, and whether it trains or is evaluated
  std::function<Tensor(const Tensor& images)> logits;  // (n, 10)
};

struct ModelSpec {
  std::string_view name;
  std::string_view doc;
  double learning_rate;  // where the user names none
  std::int64_t batch;
  Model (*make)();  // draws its initial parameters from the default channel's random numbers
};

std::span<const ModelSpec> all_models();
const ModelSpec* find_model(std::string_view name);  // null if there is none

}  // namespace regrow::cli
