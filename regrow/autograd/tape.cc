// SPDX-License-Identifier: Apache-2.0
#include "regrow/autograd/tape.h"

#include <absl/container/inlined_vector.h>

#include "regrow/autograd/grad_mode.h"
#include "regrow/autograd/node.h"
#include "regrow/autograd/pool.h"
#include "regrow/engine/default_channel.h"
#include "regrow/runtime/channel.h"

namespace regrow::autograd {
namespace {

bool any_needs_grad(std::span<const Value* const> in) noexcept {
  for (const Value* value : in)
    if (value->needs_grad()) return true;
  return false;
}

// A shape that is not known yet is found at backward, for which the value itself is kept.
template <class Handles, class Descs>
void remember(const Value& value, bool saved, Handles& handles, Descs& descs, Site site) {
  descs.push_back(value.desc(site));
  handles.push_back(saved || !descs.back()->desc.known ? value.shared_handle() : Shared<OwnedHandle>());
}

void record(const Op& op, std::span<const Value* const> in, std::span<Value> out, Site site, const RandomState* random) {
  const OpRecord& record = op.record();
  absl::InlinedVector<Shared<SharedDesc>, 2> out_descs;
  bool floating = false;
  for (const Value& value : out) {
    out_descs.push_back(value.desc(site));
    floating = floating || is_floating(out_descs.back()->desc.dtype);
  }
  if (!floating) return;
  auto node = Shared<Node>::adopt(Pool<Node>::make(op, site));
  if (random) node->random = *random;
  for (std::size_t i = 0; i < in.size(); ++i) {
    node->edges.push_back(in[i]->edge());
    if (record.gradient)
      remember(*in[i], is_saved(record.saves_inputs, i, record.inputs.size()), node->saved_inputs, node->input_descs, site);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const bool known = out_descs[i]->desc.known;
    const bool saved = record.gradient && (!known || is_saved(record.saves_outputs, i, record.outputs.size()));
    node->saved_outputs.push_back(saved ? out[i].shared_handle() : Shared<OwnedHandle>());
    if (is_floating(out_descs[i]->desc.dtype)) out[i].set_edge({Shared<Recorded>::of(node.get()), static_cast<std::uint32_t>(i)});
    node->output_descs.push_back(std::move(out_descs[i]));
  }
}

}  // namespace

void apply(const Op& op, std::span<const Value* const> in, std::span<Value> out, Site site, const RandomState* random) {
  absl::InlinedVector<Handle, 4> inputs(in.size());
  absl::InlinedVector<Handle, 2> outputs(out.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!*in[i]) fail_at(site, "{}: input {} is an empty tensor", op.name(), i);
    inputs[i] = in[i]->handle();
  }
  Channel& channel = default_channel();
  RandomState drawn;
  if (op.record().replay == Replay::seeded && !random) drawn = channel.next_random(), random = &drawn;
  channel.apply(op, inputs, std::span(outputs.data(), outputs.size()), site, random);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = Value(outputs[i]);
  if (grad_enabled() && any_needs_grad(in)) record(op, in, out, site, random);
}

std::vector<Value> apply_many(const Op& op, std::span<const Value* const> in, Site site) {
  absl::InlinedVector<Handle, 4> inputs(in.size());
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!*in[i]) fail_at(site, "{}: input {} is an empty tensor", op.name(), i);
    inputs[i] = in[i]->handle();
  }
  std::vector<Value> out;
  for (Handle handle : default_channel().apply_op(op, std::span<const Handle>(inputs.data(), inputs.size()), site))
    out.emplace_back(handle);
  if (grad_enabled() && any_needs_grad(in)) record(op, in, out, site, nullptr);
  return out;
}

Value apply_one(const Op& op, std::initializer_list<const Value*> in, Site site) {
  Value out;
  apply(op, {in.begin(), in.size()}, {&out, 1}, site);
  return out;
}

Value make_leaf(const Value& value, Site site) {
  Shared<SharedDesc> desc = value.known_desc(site);
  if (!is_floating(desc->desc.dtype))
    fail_at(site, "requires_grad: only floating point tensors have gradients, not {}", name_of(desc->desc.dtype));
  auto node = Shared<Recorded>::adopt(Pool<Node>::make(std::move(desc), site));
  return Value(value.shared_handle(), {std::move(node), 0});
}

const Value& gradient_of(const Value& leaf, Site site) {
  if (!leaf.is_leaf())
    fail_at(site, "grad: the tensor is not a leaf: only t.requires_grad() and parameters have a gradient cell");
  return leaf.edge().node()->gradient;
}

void set_gradient(const Value& leaf, Value gradient, Site site) {
  static_cast<void>(gradient_of(leaf, site));
  leaf.edge().node()->gradient = std::move(gradient);
}

}  // namespace regrow::autograd
