// SPDX-License-Identifier: Apache-2.0
// embedding and its gradient: rows read, sums in the order of the indices, padding, indices that name no row.
#include <gtest/gtest.h>

#include "tests/ops/values.h"

namespace regrow {
namespace {

using testing::error_of;
using testing::run;
using testing::Value;
using testing::value;

TEST(Embedding, ReadsRows) {
  const Value weight = value<float>({0, 1, 10, 11, 20, 21}, {3, 2});
  const Value out = run(op("embedding"), {weight, value<std::int64_t>({2, 0, 2, 1}, {2, 2})})[0];
  EXPECT_EQ(out.desc.shape, (Shape{2, 2, 2}));
  EXPECT_EQ(out.to_vector<float>(), (std::vector<float>{20, 21, 0, 1, 20, 21, 10, 11}));
}

TEST(Embedding, TheGradientAddsUpInTheOrderOfTheIndices) {
  const Value grad = value<float>({1e8f, 1, 1, 2, -1e8f, 3, 4, 4}, {4, 2});
  const Value sum = run(op("embedding_gradient", {{"rows", 3}}), {grad, value<std::uint8_t>({2, 2, 2, 0}, {4})})[0];
  // (1e8 + 1) - 1e8 in f32 is 0.
  EXPECT_EQ(sum.to_vector<float>(), (std::vector<float>{4, 4, 0, 0, 0, 6}));
  const Value padded =
      run(op("embedding_gradient", {{"rows", 3}, {"padding_idx", -1}}), {grad, value<std::uint8_t>({2, 2, 2, 0}, {4})})[0];
  EXPECT_EQ(padded.to_vector<float>(), (std::vector<float>{4, 4, 0, 0, 0, 0}));
}

// 300 times 1 in bf16 would stay at 256.
TEST(Embedding, SixteenBitTypesAddInF32) {
  const Value grad = testing::as_dtype(value(std::vector<float>(300, 1.f), {300, 1}), DType::bf16);
  const Value sum = run(op("embedding_gradient", {{"rows", 1}}), {grad, value(std::vector<std::int32_t>(300, 0), {300})})[0];
  EXPECT_EQ(sum.to_doubles(), std::vector<double>{300});
}

TEST(Embedding, AnIndexThatNamesNoRowIsAnError) {
  const Value weight = value<float>({0, 1, 10, 11, 20, 21}, {3, 2});
  const auto refused = [&](std::int64_t index) {
    return error_of([&] { run(op("embedding"), {weight, value<std::int64_t>({0, index}, {2})}); });
  };
  EXPECT_EQ(refused(3), "embedding: index 3 is out of range for 3 rows");
  EXPECT_EQ(refused(-1), "embedding: index -1 is out of range for 3 rows");
  EXPECT_NE(error_of([&] {
              run(op("embedding", {{"padding_idx", 3}}), {weight, value<std::int64_t>({0}, {1})});
            }).find("padding_idx 3 is out of range for 3 rows"),
            std::string::npos);
}

}  // namespace
}  // namespace regrow
