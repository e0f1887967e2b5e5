// SPDX-License-Identifier: Apache-2.0
// Clipping of gradients. Expected values by hand.
#include "regrow/optim/clip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "regrow/engine/default_channel.h"
#include "regrow/frontend/create.h"
#include "regrow/ops.h"

namespace regrow::optim {
namespace {

using testing::ElementsAre;

Parameter with_grad(std::initializer_list<Literal> values, DType dtype = DType::f64) {
  const Tensor grad = tensor(values, {.dtype = dtype});
  const Parameter parameter(zeros_like(grad));
  parameter.set_grad(grad);
  return parameter;
}

TEST(ClipGradNorm, ScalesAllGradientsTogether) {
  const Parameter a = with_grad({3, 0}), b = with_grad({{4.0}}), without(tensor({1.0}));
  EXPECT_EQ(clip_grad_norm({a, b, without}, 1).item<double>(), 5);
  EXPECT_NEAR(a.grad()[0].item<double>(), 3 / 5.000001, 1e-15);
  EXPECT_NEAR(sum(b.grad()).item<double>(), 4 / 5.000001, 1e-15);
  EXPECT_FALSE(without.grad().defined());
}

TEST(ClipGradNorm, LeavesSmallOnesAsTheyAre) {
  const Parameter a = with_grad({0.3, -0.4});
  EXPECT_EQ(clip_grad_norm({a}, 1).item<double>(), 0.5);
  EXPECT_THAT(a.grad().to_vector<double>(), ElementsAre(0.3, -0.4));
  EXPECT_EQ(clip_grad_norm({}, 1).item<float>(), 0);
}

// 300^2 is beyond f16.
TEST(ClipGradNorm, OfNarrowTypesIsTakenInFloat) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Parameter a = with_grad({300, 400}, dtype);
    EXPECT_EQ(clip_grad_norm({a}, 5).item<float>(), 500);
    EXPECT_EQ(a.grad().dtype(), dtype);
    EXPECT_THAT(a.grad().astype(DType::f32).to_vector<float>(),
                ElementsAre(testing::FloatNear(3, 0.01f), testing::FloatNear(4, 0.02f)));
  }
}

TEST(ClipGradNorm, HasTheSameBitsEveryTime) {
  seed(3);
  const Tensor grads[] = {normal({1000}), normal({77, 13}), normal({5})};
  std::vector<std::vector<float>> first;
  for (int round = 0; round < 3; ++round) {
    std::vector<Parameter> parameters;
    for (const Tensor& grad : grads) {
      parameters.emplace_back(zeros_like(grad));
      parameters.back().set_grad(grad);
    }
    std::vector<std::vector<float>> found = {{clip_grad_norm(parameters, 0.5).item<float>()}};
    for (const Parameter& parameter : parameters) found.push_back(parameter.grad().to_vector<float>());
    if (round == 0) first = found;
    EXPECT_EQ(found, first);
  }
}

TEST(ClipGradNorm, OfWhatIsNotFiniteSaysSo) {
  const Parameter a = with_grad({std::numeric_limits<double>::infinity(), 1});
  EXPECT_EQ(clip_grad_norm({a}, 1).item<double>(), std::numeric_limits<double>::infinity());
}

TEST(ClipGradValue, BringsEveryElementIntoTheRange) {
  const Parameter a = with_grad({-3, 0.5, 2});
  clip_grad_value({a}, 1);
  EXPECT_THAT(a.grad().to_vector<double>(), ElementsAre(-1, 0.5, 1));
  EXPECT_THROW(clip_grad_value({a}, -1), Error);
  EXPECT_THROW(clip_grad_norm({a}, -1), Error);
}

}  // namespace
}  // namespace regrow::optim
