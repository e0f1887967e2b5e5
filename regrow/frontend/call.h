// SPDX-License-Identifier: Apache-2.0
// How typed functions reach the tape: operators applied to tensors and operands. Any thread.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "regrow/frontend/tensor.h"
#include "regrow/ops/op.h"

namespace regrow::detail {

Tensor call_one(const Op& op, std::span<const Tensor* const> in, Site site);
inline Tensor call_one(const Op& op, std::initializer_list<const Tensor*> in, Site site) {
  return call_one(op, std::span(in.begin(), in.size()), site);
}
// Literals take the type of the tensors beside them.
Tensor call_weak(const Op& op, std::initializer_list<const Operand*> in, Site site);
void call_fixed(const Op& op, std::span<const Tensor* const> in, std::span<Tensor> out, Site site);
inline void call_fixed(const Op& op, std::initializer_list<const Tensor*> in, std::span<Tensor> out, Site site) {
  call_fixed(op, std::span(in.begin(), in.size()), out, site);
}
std::vector<Tensor> call_many(const Op& op, std::span<const Tensor* const> in, Site site);
inline std::vector<Tensor> call_many(const Op& op, std::initializer_list<const Tensor*> in, Site site) {
  return call_many(op, std::span(in.begin(), in.size()), site);
}

// The operator with the attributes of the last call: a loop that repeats them builds them once.
template <class Key>
class RememberedOp {
 public:
  template <class Make>
  const Op& get(const Key& key, Make&& make) {
    if (!op_ || !(key_ == key)) op_.emplace(make()), key_ = key;
    return *op_;
  }

 private:
  std::optional<Op> op_;
  Key key_{};
};

}  // namespace regrow::detail
