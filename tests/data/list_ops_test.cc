// SPDX-License-Identifier: Apache-2.0
#include "regrow/data/list_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "regrow/base/error.h"
#include "tests/data/idx_file.h"
#include "tests/error_message.h"

namespace regrow::data {
namespace {

using Numbers = std::vector<std::int64_t>;
constexpr std::int64_t MIN = 10, MAX = 11, MED = 12, SM = 13;

TEST(ListOps, OperatorsHaveTheirValues) {
  const auto of = [](std::int64_t op, Numbers digits) {
    Numbers children(digits.size(), 0);
    children.push_back(static_cast<std::int64_t>(digits.size()));
    digits.push_back(op);
    return value_of(children, digits);
  };
  EXPECT_EQ(of(MIN, {4, 2, 9}), 2);
  EXPECT_EQ(of(MAX, {4, 2, 9}), 9);
  EXPECT_EQ(of(MED, {4, 2, 9}), 4);
  EXPECT_EQ(of(MED, {4, 1, 9, 2}), 3);
  EXPECT_EQ(of(MED, {4, 1}), 2);  // 2.5, rounded down
  EXPECT_EQ(of(SM, {4, 2, 9}), 5);
}

TEST(ListOps, ExpressionsNest) {
  // The example of the paper's figure 1.
  const Numbers children = {0, 0, 0, 0, 2, 0, 4}, tokens = {2, 9, 4, 7, MIN, 0, MAX};
  EXPECT_EQ(to_string(children, tokens), "[MAX 2 9 [MIN 4 7] 0]");
  EXPECT_EQ(value_of(children, tokens), 9);
}

TEST(ListOps, ABatchIsValidExpressionsOfOneShapeWithTheirValues) {
  std::set<Numbers> shapes;
  std::set<std::int64_t> labels;
  for (std::int64_t step = 0; step < 50; ++step) {
    const ExpressionBatch batch = list_ops_batch(1, step, {.batch = 3, .digits = 20, .operands = 4});
    const auto nodes = static_cast<std::int64_t>(batch.children.size());
    ASSERT_EQ(batch.tokens.shape(), (Shape{nodes, 3}));
    const Numbers tokens = batch.tokens.to_vector<std::int64_t>(), values = batch.labels.to_vector<std::int64_t>();
    std::int64_t open = 0;
    for (std::size_t node = 0; node < batch.children.size(); ++node) {
      const std::int64_t count = batch.children[node];
      EXPECT_TRUE(count == 0 || (count >= 2 && count <= 4));
      EXPECT_GE(open, count);
      open += 1 - count;
      for (std::size_t b = 0; b < 3; ++b) EXPECT_EQ(tokens[node * 3 + b] < 10, count == 0);
    }
    EXPECT_EQ(open, 1);
    const auto digits = std::count(batch.children.begin(), batch.children.end(), 0);
    EXPECT_GE(digits, 10);
    EXPECT_LE(digits, 20);
    for (std::size_t b = 0; b < 3; ++b) {
      Numbers one;
      for (std::size_t node = 0; node < batch.children.size(); ++node) one.push_back(tokens[node * 3 + b]);
      EXPECT_EQ(values[b], value_of(batch.children, one)) << to_string(batch.children, one);
      labels.insert(values[b]);
    }
    shapes.insert(batch.children);
  }
  EXPECT_EQ(shapes.size(), 50u);
  EXPECT_EQ(labels.size(), 10u);
}

TEST(ListOps, ABatchIsAFunctionOfSeedAndStep) {
  const ListOpsOptions options{.batch = 4};
  const auto tokens = [&](std::uint64_t seed, std::int64_t step) {
    return list_ops_batch(seed, step, options).tokens.to_vector<std::int64_t>();
  };
  const Numbers wanted = tokens(5, 9);
  EXPECT_NE(tokens(5, 8), wanted);
  EXPECT_NE(tokens(6, 9), wanted);
  EXPECT_EQ(tokens(5, 9), wanted);
}

TEST(ListOps, OptionsThatMakeNoExpressionAreRefused) {
  EXPECT_EQ(error_message([] { list_ops_batch(1, 0, {.batch = 0}); }), "a batch must have at least one item, not 0");
  EXPECT_EQ(error_message([] { list_ops_batch(1, 0, {.digits = 1}); }),
            "an expression has at least 2 digits and operands, not 1 and 5");
  EXPECT_EQ(error_message([] { list_ops_batch(1, 0, {.digits = 2}); }), "");
}

}  // namespace
}  // namespace regrow::data
