// SPDX-License-Identifier: Apache-2.0
// Issues operations to the default channel and records those through which a gradient flows. Any thread.
#pragma once

#include <span>
#include <vector>

#include "regrow/autograd/value.h"
#include "regrow/ops/op.h"

namespace regrow::autograd {

// `out` holds as many empty values as the operator has outputs. Throws what the channel throws; then nothing is recorded.
// A seeded operation takes `random`, or the channel's next state.
void apply(const Op& op, std::span<const Value* const> in, std::span<Value> out, Site site, const RandomState* random = nullptr);
// The same where the number of outputs depends on the call.
std::vector<Value> apply_many(const Op& op, std::span<const Value* const> in, Site site);
Value apply_one(const Op& op, std::initializer_list<const Value*> in, Site site);

// A scalar of this type. Equal ones share a handle for as long as this thread remembers them.
Value literal(const Scalar& value, DType dtype, Device device, Site site);

// The same value as a new leaf with a gradient cell of its own. Floating types only; waits if the shape depends on data.
Value make_leaf(const Value& value, Site site);
// The leaf's gradient; empty where nothing has flowed back. Throws Error if the value is not a leaf.
const Value& gradient_of(const Value& leaf, Site site);
void set_gradient(const Value& leaf, Value gradient, Site site);  // an empty value clears it

}  // namespace regrow::autograd
