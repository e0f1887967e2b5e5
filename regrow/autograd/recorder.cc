// SPDX-License-Identifier: Apache-2.0
#include "regrow/autograd/recorder.h"

#include <absl/container/inlined_vector.h>

#include "regrow/autograd/tape.h"

namespace regrow::autograd {

void EagerRecorder::call(const Op& op, std::span<const Var> in, RandomState random, std::span<Var> out) {
  absl::InlinedVector<const Value*, 4> inputs;
  for (Var v : in) {
    require(static_cast<bool>(v), "{}: a gradient rule passes a null value", op.name());
    inputs.push_back(&(*this)[v]);
  }
  absl::InlinedVector<Value, 2> results(out.size());
  apply(op, std::span(inputs.data(), inputs.size()), std::span(results.data(), results.size()), site_,
        op.record().replay == Replay::seeded ? &random : nullptr);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = add(std::move(results[i]));
}

Var EagerRecorder::constant(const Scalar& value, DType dtype, Var like) {
  return add(literal(value, dtype, (*this)[like].desc(site_)->desc.device, site_));
}

const Desc& EagerRecorder::desc(Var v) {
  Entry& entry = values_[static_cast<std::size_t>(v.id)];
  if (!entry.desc) entry.desc = entry.value.known_desc(site_);
  return entry.desc->desc;
}

Var EagerRecorder::add(Value value) {
  values_.push_back({std::move(value), {}});
  return {this, static_cast<std::int32_t>(values_.size()) - 1};
}

}  // namespace regrow::autograd
