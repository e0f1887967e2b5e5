// SPDX-License-Identifier: Apache-2.0
// Mixed precision scopes: which operators round, what comes out, what comes back.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "regrow/frontend/attention.h"
#include "regrow/frontend/autocast.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"
#include "regrow/frontend/grad.h"
#include "regrow/frontend/parameter.h"

namespace regrow {
namespace {

std::vector<float> floats(const Tensor& x) { return x.astype(DType::f32).to_vector<float>(); }

void expect_near(const Tensor& got, const Tensor& expected, double tolerance) {
  const std::vector<float> a = floats(got), b = floats(expected);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

TEST(Autocast, ProductsAreRoundedOthersAreNot) {
  const Tensor a = uniform({6, 8}), b = uniform({8, 5}), image = uniform({1, 2, 5, 5}), kernel = uniform({3, 2, 3, 3});
  const Tensor q = uniform({2, 4, 8});
  const Autocast scope(DType::bf16);
  EXPECT_EQ(matmul(a, b).dtype(), DType::bf16);
  EXPECT_EQ(conv2d(image, kernel).dtype(), DType::bf16);
  EXPECT_EQ(scaled_dot_product_attention(q, q, q).dtype(), DType::bf16);
  EXPECT_EQ((a + a).dtype(), DType::f32);
  EXPECT_EQ(exp(a).dtype(), DType::f32);
  EXPECT_EQ(softmax(a).dtype(), DType::f32);
  EXPECT_EQ(linear(a, transpose(b), uniform({5})).dtype(), DType::f32);  // the bias is added in f32
  EXPECT_EQ(matmul(a.astype(DType::f64), b.astype(DType::f64)).dtype(), DType::f64);
}

TEST(Autocast, HoldsForAScopeOfOneThread) {
  const Tensor a = uniform({4, 4});
  {
    const Autocast outer(DType::bf16);
    {
      const Autocast inner(DType::f16);
      EXPECT_EQ(matmul(a, a).dtype(), DType::f16);
      const Autocast none(DType::f32);
      EXPECT_EQ(matmul(a, a).dtype(), DType::f32);
    }
    EXPECT_EQ(matmul(a, a).dtype(), DType::bf16);
    std::thread([&] { EXPECT_EQ(matmul(a, a).dtype(), DType::f32); }).join();
  }
  EXPECT_EQ(matmul(a, a).dtype(), DType::f32);
  EXPECT_THROW(const Autocast refused(DType::i32), Error);
}

// One of 2^-8 in each factor, of sums of 64 terms below 1: at most 64 * 2 * 2^-8, here a sixth of that at the most.
TEST(Autocast, ValuesAndGradientsAreThoseOfF32WithinRounding) {
  const Parameter w(uniform({64, 32}, {.low = -1, .high = 1})), bias(uniform({32}));
  const Tensor x = uniform({16, 64}, {.low = -1, .high = 1});
  const auto loss = [&] { return mean(square(linear(x, transpose(w.value()), bias.value()))); };
  const Tensor exact = linear(x, transpose(w.value()), bias.value());
  loss().backward();
  const Tensor grad = w.grad(), bias_grad = bias.grad();
  w.zero_grad(), bias.zero_grad();
  {
    const Autocast scope(DType::bf16);
    expect_near(linear(x, transpose(w.value()), bias.value()), exact, 0.08);
    loss().backward();  // within the scope, as without
  }
  EXPECT_EQ(w.grad().dtype(), DType::f32);
  EXPECT_EQ(bias.grad().dtype(), DType::f32);
  expect_near(w.grad(), grad, 0.02);
  expect_near(bias.grad(), bias_grad, 0.02);
  EXPECT_NE(floats(w.grad()), floats(grad));  // they were rounded
}

}  // namespace
}  // namespace regrow
