// SPDX-License-Identifier: Apache-2.0
// What the operators of long short-term memory share: checks, the algebra of a step backward. Any thread.
#pragma once

#include "regrow/ops/op.h"
#include "regrow/ops/var.h"

namespace regrow {

// `dtypes` of operators with three results: all of one floating type; f32 and f64 alone if `wide`. Throws Error otherwise.
void lstm_dtypes(std::span<const DType> in, bool wide, std::span<DType> out);

// A step backward in operators that have gradients themselves. `flow` reaches the cells after the step (null: nothing), more than
// that comes by the hidden state and by the gates after their functions.
struct LstmStepVars {
  Var active, cell, next;           // (N, 4H), (N, H), (N, H)
  Var d_hidden, d_next, d_active;  // any may be null
};
struct LstmStepGradient {
  Var d_gates, d_cell;
};
LstmStepGradient lstm_step_back(const LstmStepVars& step);

// x[at] along the first axis.
Var at_step(Var x, std::int64_t at);
// x[first:last] along the first axis.
Var between_steps(Var x, std::int64_t first, std::int64_t last);

}  // namespace regrow
