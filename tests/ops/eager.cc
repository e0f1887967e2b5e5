// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/eager.h"

#include <memory>
#include <stdexcept>

namespace regrow::direct {

Var EagerRecorder::put(Value value) {
  values_.push_back(std::move(value));
  return {this, static_cast<std::int32_t>(values_.size() - 1)};
}

std::vector<Var> EagerRecorder::apply(const Op& op, std::span<const Var> in, RandomState random) {
  std::vector<Value> values;
  for (Var v : in) values.push_back(value(v));
  Entry entry{op, random, {in.begin(), in.end()}, {}};
  for (Value& result : run(op, values, {.random = random})) entry.out.push_back(put(std::move(result)));
  tape_.push_back(entry);
  return entry.out;
}

void EagerRecorder::call(const Op& op, std::span<const Var> in, RandomState random, std::span<Var> out) {
  const std::vector<Var> results = apply(op, in, random);
  if (results.size() != out.size()) throw std::logic_error(std::string(op.name()) + ": a rule expects another number of outputs");
  std::copy(results.begin(), results.end(), out.begin());
}

Var EagerRecorder::constant(const Scalar& scalar, DType dtype, Var like) {
  return put(value_of(HostArray::scalar(scalar, dtype), desc(like).device));
}

std::vector<Var> EagerRecorder::gradients(std::span<const Var> outs, std::span<const Var> seeds, std::span<const Var> wanted,
                                          bool recorded) {
  std::vector<bool> reached(values_.size());
  for (Var v : wanted) reached[static_cast<std::size_t>(v.id)] = true;
  for (const Entry& entry : tape_)
    for (Var in : entry.in)
      if (reached[static_cast<std::size_t>(in.id)])
        for (Var out : entry.out) reached[static_cast<std::size_t>(out.id)] = true;
  const std::size_t end = tape_.size();  // what follows adds to the tape
  std::vector<Var> grads(values_.size());
  for (std::size_t k = 0; k < outs.size(); ++k) {
    Var& grad = grads[static_cast<std::size_t>(outs[k].id)];
    grad = grad ? grad + seeds[k] : seeds[k];
  }
  for (std::size_t k = end; k-- > 0;) backward(Entry(tape_[k]), grads, reached, recorded);
  std::vector<Var> results;
  for (Var v : wanted) results.push_back(grads[static_cast<std::size_t>(v.id)]);
  return results;
}

void EagerRecorder::backward(const Entry& entry, std::vector<Var>& grads, const std::vector<bool>& reached, bool recorded) {
  const OpRecord& record = entry.op.record();
  const auto id = [](Var v) { return static_cast<std::size_t>(v.id); };
  std::vector<Var> ins(entry.in.size()), outs(entry.out.size()), out_grads, results(entry.in.size());
  const auto wants = std::make_unique<bool[]>(entry.in.size());
  std::vector<const Desc*> in_descs, out_descs;
  bool flows = false, wanted = false;
  for (std::size_t i = 0; i < entry.in.size(); ++i) {
    in_descs.push_back(&desc(entry.in[i]));
    if (record.saves_inputs >> i & 1) ins[i] = entry.in[i];
    wants[i] = reached[id(entry.in[i])] && is_floating(in_descs[i]->dtype);
    wanted = wanted || wants[i];
  }
  for (std::size_t i = 0; i < entry.out.size(); ++i) {
    out_descs.push_back(&desc(entry.out[i]));
    if (record.saves_outputs >> i & 1) outs[i] = entry.out[i];
    out_grads.push_back(grads[id(entry.out[i])]);
    flows = flows || out_grads[i];
  }
  if (!flows || !wanted || !record.gradient) return;
  Gradient g;
  g.recorder_ = this, g.op_ = &entry.op, g.attrs_ = &entry.op.attrs(), g.random_ = entry.random;
  g.recorded_ = recorded;
  g.ins_ = ins, g.outs_ = outs, g.grads_ = out_grads, g.in_descs_ = in_descs, g.out_descs_ = out_descs;
  g.wants_ = {wants.get(), entry.in.size()}, g.results_ = results;
  record.gradient(g);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i] || !wants[i]) continue;
    const Desc& got = desc(results[i]);
    if (got.shape != in_descs[i]->shape || got.dtype != in_descs[i]->dtype || !(got.device == in_descs[i]->device))
      throw std::logic_error(std::string(record.name) + ": the gradient of " + to_string(*in_descs[i]) + " is " + to_string(got));
    Var& grad = grads[id(entry.in[i])];
    grad = grad ? grad + results[i] : results[i];
  }
}

}  // namespace regrow::direct
