// SPDX-License-Identifier: Apache-2.0
#include "regrow/nn/initializer.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "regrow/base/error.h"
#include "regrow/frontend/create.h"
#include "regrow/ops.h"

namespace regrow::nn {

namespace {

double at_least_one(std::int64_t fan) { return static_cast<double>(std::max<std::int64_t>(fan, 1)); }

// Gram and Schmidt, each vector twice, so that what rounding leaves is gone as well.
void make_orthogonal(std::vector<double>& vectors, std::size_t count, std::size_t length) {
  for (std::size_t i = 0; i < count; ++i) {
    double* own = vectors.data() + i * length;
    for (int round = 0; round < 2; ++round)
      for (std::size_t k = 0; k < i; ++k) {
        const double* other = vectors.data() + k * length;
        const double along = std::inner_product(own, own + length, other, 0.0);
        for (std::size_t j = 0; j < length; ++j) own[j] -= along * other[j];
      }
    const double norm = std::sqrt(std::inner_product(own, own + length, own, 0.0));
    for (std::size_t j = 0; j < length; ++j) own[j] /= norm;
  }
}

}  // namespace

Fans fans_of(const Shape& weight) {
  require(weight.size() >= 2, "a weight has at least two axes, not shape {}", to_string(weight));
  std::int64_t kernel = 1;
  for (std::size_t i = 2; i < weight.size(); ++i) kernel *= weight[i];
  return {weight[1] * kernel, weight[0] * kernel};
}

Tensor uniform_within(const Shape& shape, double bound, Site site) {
  return uniform(shape, {.low = -bound, .high = bound}, site);
}

Tensor kaiming_uniform(const Shape& weight, double slope, Site site) {
  return uniform_within(weight, std::sqrt(6.0 / ((1.0 + slope * slope) * at_least_one(fans_of(weight).in))), site);
}

Tensor kaiming_normal(const Shape& weight, double slope, Site site) {
  const double deviation = std::sqrt(2.0 / ((1.0 + slope * slope) * at_least_one(fans_of(weight).in)));
  return normal(weight, {.stddev = deviation}, site);
}

Tensor xavier_uniform(const Shape& weight, double gain, Site site) {
  const Fans fans = fans_of(weight);
  return uniform_within(weight, gain * std::sqrt(6.0 / at_least_one(fans.in + fans.out)), site);
}

Tensor xavier_normal(const Shape& weight, double gain, Site site) {
  const Fans fans = fans_of(weight);
  return normal(weight, {.stddev = gain * std::sqrt(2.0 / at_least_one(fans.in + fans.out))}, site);
}

Tensor orthogonal(const Shape& weight, double gain, Site site) {
  require(weight.size() >= 2, "a weight has at least two axes, not shape {}", to_string(weight));
  const std::int64_t rows = weight[0], columns = rows == 0 ? 0 : element_count(weight) / rows;
  if (rows == 0 || columns == 0) return zeros(weight, {}, site);
  const auto count = static_cast<std::size_t>(std::min(rows, columns)),
             length = static_cast<std::size_t>(std::max(rows, columns));
  const Shape drawn = {static_cast<std::int64_t>(count), static_cast<std::int64_t>(length)};
  std::vector<double> vectors = normal(drawn, {.dtype = DType::f64}, site).to_vector<double>(site);
  make_orthogonal(vectors, count, length);
  std::vector<float> values(vectors.size());
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j < length; ++j)
      values[rows <= columns ? i * length + j : j * count + i] = static_cast<float>(gain * vectors[i * length + j]);
  return tensor(values, weight, {}, site);
}

}  // namespace regrow::nn
