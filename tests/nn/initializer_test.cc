// SPDX-License-Identifier: Apache-2.0
// First values against the formulas of their papers.
#include "regrow/nn/initializer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "regrow/engine/default_channel.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"

namespace regrow::nn {
namespace {

double deviation_of(const Tensor& x) { return std(x).item<float>(); }

// Many numbers: the deviation of n normal ones is known to about 1 / sqrt(2 n).
TEST(Initializers, NormalOnesHaveTheirDeviation) {
  seed(5);
  EXPECT_NEAR(deviation_of(kaiming_normal({400, 50, 2})), std::sqrt(2.0 / 100), 0.01 * std::sqrt(2.0 / 100));
  EXPECT_NEAR(deviation_of(kaiming_normal({400, 100}, 2)), std::sqrt(2.0 / (5 * 100)), 0.01 * std::sqrt(2.0 / 500));
  EXPECT_NEAR(deviation_of(xavier_normal({400, 100}, 3)), 3 * std::sqrt(2.0 / 500), 0.01 * 3 * std::sqrt(2.0 / 500));
  EXPECT_NEAR(mean(xavier_normal({400, 100})).item<float>(), 0, 3e-3 * std::sqrt(2.0 / 500) * 5);
}

TEST(Initializers, UniformOnesHaveTheVarianceOfTheirFormula) {
  seed(6);
  EXPECT_NEAR(deviation_of(kaiming_uniform({400, 100})), std::sqrt(2.0 / 100), 0.01 * std::sqrt(2.0 / 100));
  EXPECT_NEAR(deviation_of(xavier_uniform({400, 100}, 2)), 2 * std::sqrt(2.0 / 500), 0.02 * std::sqrt(2.0 / 500));
}

TEST(Initializers, OrthogonalOnesAreOrthogonal) {
  for (const Shape& shape : {Shape{3, 7}, Shape{7, 3}, Shape{4, 4}, Shape{6, 2, 2, 2}}) {
    const Tensor weight = orthogonal(shape, 2);
    ASSERT_EQ(weight.shape(), shape);
    const Tensor matrix = weight.reshape({shape[0], -1}).astype(DType::f64);
    const Tensor square = shape[0] <= matrix.shape()[1] ? matmul(matrix, transpose(matrix)) : matmul(transpose(matrix), matrix);
    const std::vector<double> found = square.to_vector<double>();
    const auto n = static_cast<std::size_t>(square.shape()[0]);
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], i / n == i % n ? 4 : 0, 1e-5) << to_string(shape);
  }
  EXPECT_EQ(orthogonal({0, 3}).shape(), (Shape{0, 3}));
}

TEST(Initializers, AreFunctionsOfTheRandomState) {
  for (auto* draw : {&kaiming_normal, &xavier_normal, &orthogonal}) {
    seed(9);
    const std::vector<float> first = draw({8, 4}, 1, Site::here()).to_vector<float>();
    EXPECT_NE(draw({8, 4}, 1, Site::here()).to_vector<float>(), first);
    seed(9);
    EXPECT_EQ(draw({8, 4}, 1, Site::here()).to_vector<float>(), first);
  }
}

}  // namespace
}  // namespace regrow::nn
