// SPDX-License-Identifier: Apache-2.0
// The files that make.py writes, read; and how results are compared with them. One thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "regrow/tensor/host_array.h"

namespace regrow::golden {

struct Case {
  std::string op;
  nlohmann::json attrs;
  std::vector<HostArray> in, out;
  std::int64_t ulp = 0;  // how far apart floating results may be, in units in the last place

  std::string text() const;  // "sum(f32(2, 3); {"axis":[0]})"
};

std::vector<Case> read(const std::string& family);

// What is wrong with `got`, or nothing. All NaN are alike; otherwise, at 0 ulp, the bits must be.
std::string difference(const HostArray& got, const HostArray& expected, std::int64_t ulp);

}  // namespace regrow::golden
