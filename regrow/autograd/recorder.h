// SPDX-License-Identifier: Apache-2.0
// Runs gradient rules eagerly: every operation that a rule asks for is issued at once, and recorded in turn where grad mode is
// on. One thread: the one that runs backward.
#pragma once

#include <vector>

#include "regrow/autograd/value.h"
#include "regrow/ops/var.h"

namespace regrow::autograd {

class EagerRecorder final : public Recorder {
 public:
  void call(const Op& op, std::span<const Var> in, RandomState random, std::span<Var> out) override;
  Var constant(const Scalar& value, DType dtype, Var like) override;
  const Desc& desc(Var v) override;

  Var add(Value value);
  const Value& operator[](Var v) const { return values_[static_cast<std::size_t>(v.id)].value; }
  // The line that the operations belong to: where the forward operation was issued.
  void set_site(Site site) noexcept { site_ = site; }
  void clear() noexcept { values_.clear(); }

 private:
  struct Entry {
    Value value;
    Shared<SharedDesc> desc;  // once asked for
  };
  std::vector<Entry> values_;
  Site site_;
};

}  // namespace regrow::autograd
