// SPDX-License-Identifier: Apache-2.0
// Inputs for tests of operators: values that depend on a seed alone, and the ways in which a tensor may lie in memory. Any
// thread.
#pragma once

#include <string>
#include <vector>

#include "tests/ops/direct.h"

namespace regrow::direct {

// Uniform in [low, high]; integers within, and within their type; bool at random, but true where low > 0.
HostArray draw(DType dtype, const Shape& shape, double low, double high, std::uint64_t seed);

// Of every special kind that the type has (NaN, infinities, -0, denormals, limits), among plain numbers, in an order that the seed
// decides.
HostArray draw_specials(DType dtype, const Shape& shape, std::uint64_t seed);

struct Lay {
  std::string name;
  Strides strides;
};
// Other strides for this shape: reversed axes, gaps, negative steps, channels-last.
std::vector<Lay> layouts(const Shape& shape);

// A sample as the sweep runs it: descriptions and values of the inputs.
struct Case {
  Op op;
  const Sample* sample;
  std::vector<DType> dtypes;
  std::vector<HostArray> inputs;
  std::string text() const;  // "sum(f32(2, 3))"
};
// Every sample of the operator with every element type that it accepts: as the sample says, with the first floating type of the
// sample (or its only type) replaced by each of the 13, and with the first integer type, of indices, by each of the integers.
std::vector<Case> cases(const OpRecord& record);
// The samples with f64 in place of floating types, where accepted: for gradients.
std::vector<Case> gradient_cases(const OpRecord& record);
// Cases whose floating inputs (in the sample's own types), and what stands in for them, hold special values.
std::vector<Case> special_cases(const OpRecord& record);

}  // namespace regrow::direct
