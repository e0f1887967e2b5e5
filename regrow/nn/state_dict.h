// SPDX-License-Identifier: Apache-2.0
// State dictionaries: named values, as PyTorch has them, and how they are compared with what is to take them. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "regrow/frontend/tensor.h"

namespace regrow::nn {

using StateDict = std::vector<std::pair<std::string, Tensor>>;

// What a value is, without the value.
struct Described {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
};
std::vector<Described> described(const StateDict& state, Site site = Site::here());

struct StateDifference {
  std::vector<std::string> missing;     // wanted, not found
  std::vector<std::string> unexpected;  // found, not wanted, or found twice
  std::vector<std::string> mismatched;  // "0.weight is f32(3, 4), not f32(4, 3)"

  bool empty() const noexcept { return missing.empty() && unexpected.empty() && mismatched.empty(); }
};
StateDifference compare(std::span<const Described> wanted, std::span<const Described> found);
// Throws Error, "WHAT: missing: …; unexpected: …; …", if something differs.
void require_same(const StateDifference& difference, std::string_view what, Site site);

struct LoadOptions {
  bool strict = true;  // an Error where names are missing or unexpected; otherwise they are returned
};

}  // namespace regrow::nn
