// SPDX-License-Identifier: Apache-2.0
// ListOps (Nangia and Bowman 2018): nested expressions over lists of digits, [MAX 2 9 [MIN 4 7] 0], and their value. Generated:
// what a batch holds is a function of the seed and the step alone. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "regrow/tensor/host_array.h"

namespace regrow::data {

// MED: the median, of an even number of values the mean of the middle two rounded down; SM: the sum modulo 10.
enum class ListOp : std::uint8_t { min = 10, max = 11, med = 12, sm = 13 };
inline constexpr std::int64_t list_tokens = 14;  // the digits, then the operators

// Expressions of one shape, in postfix order: the operands of a node stand before it. The shape is new in every batch.
struct ExpressionBatch {
  std::vector<std::int64_t> children;  // of each node; 0: a digit
  HostArray tokens;                    // i64 (nodes, batch)
  HostArray labels;                    // i64 (batch,): 0 … 9
};

struct ListOpsOptions {
  std::int64_t batch = 32;
  std::int64_t digits = 40;   // at most, in an expression; at least half of it
  std::int64_t operands = 5;  // at most, of an operator; at least two
};

// Throws Error unless batch >= 1, digits >= 2, operands >= 2.
ExpressionBatch list_ops_batch(std::uint64_t seed, std::int64_t step, const ListOpsOptions& options);

// The value of one expression: a digit.
std::int64_t value_of(const std::vector<std::int64_t>& children, const std::vector<std::int64_t>& tokens);
std::string to_string(const std::vector<std::int64_t>& children, const std::vector<std::int64_t>& tokens);

}  // namespace regrow::data
