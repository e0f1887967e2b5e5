// SPDX-License-Identifier: Apache-2.0
// First values of parameters, drawn from the channel's random state. Any thread.
#pragma once

#include <cstdint>

#include "regrow/frontend/tensor.h"

namespace regrow::nn {

// How many inputs and outputs each unit of a weight (out, in, kernel…) has.
struct Fans {
  std::int64_t in = 0, out = 0;
};
Fans fans_of(const Shape& weight);

Tensor uniform_within(const Shape& shape, double bound, Site site = Site::here());  // U(-bound, bound)
// He et al. 2015: bound = sqrt(6 / ((1 + slope^2) in)); slope sqrt(5) gives PyTorch's default, 1 / sqrt(in).
Tensor kaiming_uniform(const Shape& weight, double slope = 0, Site site = Site::here());
// The same variance, normally distributed: deviation = sqrt(2 / ((1 + slope^2) in)).
Tensor kaiming_normal(const Shape& weight, double slope = 0, Site site = Site::here());
// Glorot and Bengio 2010: bound = gain sqrt(6 / (in + out)).
Tensor xavier_uniform(const Shape& weight, double gain = 1, Site site = Site::here());
Tensor xavier_normal(const Shape& weight, double gain = 1, Site site = Site::here());  // deviation = gain sqrt(2 / (in + out))
// Saxe, McClelland, Ganguli 2014: as a matrix (first axis, all others), rows or columns, whichever are fewer, of length `gain`
// and at right angles to each other. Waits.
Tensor orthogonal(const Shape& weight, double gain = 1, Site site = Site::here());

}  // namespace regrow::nn
