// SPDX-License-Identifier: Apache-2.0
// A Recorder that runs every operation at once and remembers it: gradients of any order without the autograd layer. One thread.
#pragma once

#include <deque>
#include <vector>

#include "regrow/ops/var.h"
#include "tests/ops/direct.h"

namespace regrow::direct {

class EagerRecorder : public Recorder {
 public:
  Var put(Value value);
  Var put(const HostArray& array) { return put(value_of(array)); }
  const Value& value(Var v) const { return values_[static_cast<std::size_t>(v.id)]; }
  std::vector<Var> apply(const Op& op, std::span<const Var> in, RandomState random = {});
  Var apply(const Op& op, std::initializer_list<Var> in) { return apply(op, std::span<const Var>(in.begin(), in.size())).at(0); }

  // Of the sum of outs[k] * seeds[k], with respect to `wanted`; null where nothing flows. What computes them is recorded too.
  // Rules see only the values that their record saves; `recorded`: and are told that they will be differentiated. Throws
  // std::logic_error if a rule gives a gradient of another shape or type.
  std::vector<Var> gradients(std::span<const Var> outs, std::span<const Var> seeds, std::span<const Var> wanted,
                             bool recorded = false);

  void call(const Op& op, std::span<const Var> in, RandomState random, std::span<Var> out) override;
  Var constant(const Scalar& value, DType dtype, Var like) override;
  const Desc& desc(Var v) override { return value(v).desc; }

 private:
  struct Entry {
    Op op;
    RandomState random;
    std::vector<Var> in, out;
  };
  void backward(const Entry& entry, std::vector<Var>& grads, const std::vector<bool>& reached, bool recorded);

  std::deque<Value> values_;
  std::deque<Entry> tape_;
};

}  // namespace regrow::direct
