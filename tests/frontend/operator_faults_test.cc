// SPDX-License-Identifier: Apache-2.0
// Faults that other libraries had, by their rows in docs/faults.md, section (e), where no other test has them. Expected values:
// the row's, from NumPy or by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "regrow/engine/default_channel.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"

namespace regrow {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

template <class F>
std::string message_of(F&& run) {
  try {
    run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

TEST(OperatorFaults, B106TheFirstNaNIsTheExtreme) {
  const Tensor x = tensor({3.f, NAN, 1.f, 5.f, NAN});
  EXPECT_TRUE(std::isnan(max(x).item<float>()));
  EXPECT_EQ(argmax(x).item<std::int64_t>(), 1);
  EXPECT_EQ(argmin(x).item<std::int64_t>(), 1);
  EXPECT_EQ(top_k(x, 1)[1].item<std::int64_t>(), 1);
}

TEST(OperatorFaults, B108TheSignOfNaNIsIrrelevant) {
  const float minus_nan = std::bit_cast<float>(0xffc00000u);
  for (const Tensor& x : {tensor({1.f, minus_nan, 2.f}), tensor({1.f, NAN, 2.f})}) {
    EXPECT_TRUE(std::isnan(max(x).item<float>()));
    EXPECT_TRUE(std::isnan(min(x).item<float>()));
    EXPECT_THAT(argsort(x).to_vector<std::int64_t>(), ElementsAre(0, 2, 1));
    EXPECT_THAT(top_k(x, 2)[1].to_vector<std::int64_t>(), ElementsAre(1, 2));
  }
}

TEST(OperatorFaults, B115RollOfNothing) {
  EXPECT_EQ(roll(zeros({0, 3}), 10, {.axis = 0}).shape(), (Shape{0, 3}));
  EXPECT_EQ(roll(zeros({0, 3}), 1).shape(), (Shape{0, 3}));
}

TEST(OperatorFaults, B116SplitIntoPartsOfNoSize) {
  const Tensor x = arange(10);
  EXPECT_THAT(message_of([&] { split(x, 0); }), HasSubstr("split: 10 cannot be cut into 0 equal parts"));
  EXPECT_THAT(message_of([&] { split(x, {-1, 11}); }), HasSubstr("split: a part cannot have -1 elements"));
  EXPECT_THAT(message_of([&] { split(x, {4, 4}); }), HasSubstr("do not add up"));
  EXPECT_EQ(split(x, {0, 10}).at(0).shape(), Shape{0});
}

TEST(OperatorFaults, B118LogSoftmaxOfAScalar) { EXPECT_EQ(log_softmax(tensor(0.6931f)).item<float>(), 0); }

TEST(OperatorFaults, B130MatmulOfAViewWithANewAxis) {
  const Tensor rows = normal({6, 5}), right = normal({5, 4});
  const Tensor view = rows[{slice(none, none), none}], made = rows.reshape({6, 1, 5}) + 0;
  EXPECT_EQ(matmul(view, right).to_vector<float>(), matmul(made, right).to_vector<float>());
  EXPECT_EQ(matmul(transpose(view, 0, 1), right).to_vector<float>(), matmul(rows, right).to_vector<float>());
}

TEST(OperatorFaults, B132MeanOfOnes) {
  EXPECT_EQ(mean(ones({1, 3, 321, 481})).item<float>(), 1);
  EXPECT_EQ(mean(mean(ones({1, 3, 321, 481}), {.axis = {2, 3}})).item<float>(), 1);
}

TEST(OperatorFaults, B133NegativeBases) {
  EXPECT_THAT(power(tensor({-1.f, -3.f, -2.f}), tensor({2, 3, -1})).to_vector<float>(), ElementsAre(1, -27, -0.5));
  EXPECT_EQ(power(tensor(-3.0), 3).item<double>(), -27);
}

TEST(OperatorFaults, B138AnExpandedTensorIsWorkedOnOnce) {
  Tensor x = broadcast_to(tensor({1.f}), {3});
  x += 1;
  EXPECT_THAT(x.to_vector<float>(), Each(2));
  x = broadcast_to(tensor({1.f}), {3});
  x[1] += 1;
  EXPECT_THAT(x.to_vector<float>(), ElementsAre(1, 2, 1));
}

TEST(OperatorFaults, B139ShiftedSelfAssignmentReadsTheOldValue) {
  for (std::int64_t n : {5, 1000, 1000000}) {
    Tensor b = arange(n);
    b[slice(1, none)] = b[slice(none, -1)];
    const std::vector<std::int64_t> values = b.to_vector<std::int64_t>();
    ASSERT_EQ(values[0], 0);
    for (std::int64_t i = 1; i < n; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], i - 1);
  }
  Tensor y = arange(5);
  y += flip(y);
  EXPECT_THAT(y.to_vector<std::int64_t>(), Each(4));
}

// Sums of squares in f16 and of a mean that f16 cannot hold.
TEST(OperatorFaults, B142StatisticsOfHalvesAreThoseOfFloats) {
  const Tensor x = normal({1000}) * 1000, half = x.astype(DType::f16), wide = half.astype(DType::f32);
  EXPECT_NEAR(std(half).astype(DType::f32).item<float>(), std(wide).item<float>(), 0.5);
  EXPECT_NEAR(norm(half).astype(DType::f32).item<float>(), norm(wide).item<float>(), 16);
  EXPECT_TRUE(std::isinf(var(half).astype(DType::f32).item<float>()));  // a million is more than f16 holds
}

TEST(OperatorFaults, B153DropoutHeedsTheSeed) {
  const Tensor x = ones({1000});
  seed(5);
  const std::vector<float> first = dropout(x).to_vector<float>();
  seed(5);
  EXPECT_EQ(dropout(x).to_vector<float>(), first);
  seed(6);
  EXPECT_NE(dropout(x).to_vector<float>(), first);
}

TEST(OperatorFaults, B169WhatDoesNotFitAnInteger) {
  for (std::int64_t n = 1; n <= 17; ++n) {
    const std::vector<float> values(static_cast<std::size_t>(n), NAN);
    EXPECT_THAT(tensor(values).astype(DType::i8).to_vector<std::int8_t>(), Each(0));
    EXPECT_THAT((tensor(values) * 0 + INFINITY).astype(DType::i8).to_vector<std::int8_t>(), Each(0));  // NaN + inf
    EXPECT_THAT(full({n}, 300.f).astype(DType::i8).to_vector<std::int8_t>(), Each(127));
    EXPECT_THAT(full({n}, -INFINITY).astype(DType::i8).to_vector<std::int8_t>(), Each(-128));
  }
}

TEST(OperatorFaults, B170IntegersBesideShortFloats) {
  const Tensor sum = tensor(257, {.dtype = DType::i32}) + tensor(0.f, {.dtype = DType::bf16});
  EXPECT_EQ(sum.dtype(), DType::bf16);  // the promotion table of the array API: 257 becomes 256
  EXPECT_EQ(sum.astype(DType::f32).item<float>(), 256);
}

TEST(OperatorFaults, B174AdditionKeepsTheSignOfZero) {
  Tensor zero = tensor(-0.f);
  EXPECT_TRUE(std::signbit(add(zero, zero).item<float>()));
  EXPECT_TRUE(std::signbit((zero + zero).item<float>()));
  zero += zero;
  EXPECT_TRUE(std::signbit(zero.item<float>()));
}

}  // namespace
}  // namespace regrow
