// SPDX-License-Identifier: Apache-2.0
#include "regrow/autograd/rule.h"

#include <fmt/format.h>

#include "regrow/autograd/tape.h"

namespace regrow::autograd {
namespace {

// The spans that a Gradient points to.
struct Frame {
  absl::InlinedVector<Var, 4> ins, outs, grads, results;
  absl::InlinedVector<const Desc*, 4> in_descs, out_descs;
  absl::InlinedVector<bool, 4> wants;
};

// Shapes that were open when the operation was recorded are known, or waited for, now.
void settle(Shared<SharedDesc>& desc, const Shared<OwnedHandle>& handle, Site site) {
  if (!desc->desc.known) desc = Value::known_desc_of(handle, site);
}

void fill(Frame& frame, Node& node, EagerRecorder& recorder, bool restricted, bool create_graph) {
  const OpRecord& record = node.op.record();
  for (std::size_t i = 0; i < node.edges.size(); ++i) {
    const Edge& edge = node.edges[i];
    settle(node.input_descs[i], node.saved_inputs[i], node.site);
    frame.in_descs.push_back(&node.input_descs[i]->desc);
    frame.wants.push_back(edge && (!restricted || (edge.node()->visited && edge.node()->needed)));
    const bool saved = node.saved_inputs[i] && is_saved(record.saves_inputs, i, record.inputs.size());
    frame.ins.push_back(saved ? recorder.add(Value(node.saved_inputs[i], create_graph ? edge : Edge())) : Var());
  }
  for (std::size_t i = 0; i < node.output_descs.size(); ++i) {
    settle(node.output_descs[i], node.saved_outputs[i], node.site);
    frame.out_descs.push_back(&node.output_descs[i]->desc);
    const bool saved = node.saved_outputs[i] && is_saved(record.saves_outputs, i, record.outputs.size());
    Edge edge;
    if (saved && create_graph && is_floating(node.output_descs[i]->desc.dtype))
      edge = {Shared<Recorded>::of(&node), static_cast<std::uint32_t>(i)};
    frame.outs.push_back(saved ? recorder.add(Value(node.saved_outputs[i], std::move(edge))) : Var());
    frame.grads.push_back(node.grads[i] ? recorder.add(node.grads[i]) : Var());
  }
  frame.results.resize(node.edges.size());
}

Value checked(Value value, const Desc& input, std::size_t i, const Node& node) {
  const Shared<SharedDesc> shared = value.desc(node.site);
  const Desc& desc = shared->desc;
  if (desc.known && desc.shape != input.shape)
    fail_at(node.site, "the gradient of input {} has shape {}, the input {}", i, to_string(desc.shape), to_string(input.shape));
  if (desc.dtype == input.dtype) return value;
  return apply_one(op("cast", {{"dtype", input.dtype}}), {&value}, node.site);
}

void run_checked(Node& node, EagerRecorder& recorder, bool restricted, bool create_graph, RuleResults& results) {
  if (!node.op.record().gradient) fail_at(node.site, "the operator is not differentiable");
  Frame frame;
  fill(frame, node, recorder, restricted, create_graph);
  Gradient g;
  g.recorder_ = &recorder;
  g.op_ = &node.op;
  g.attrs_ = &node.op.attrs();
  g.random_ = node.random;
  g.recorded_ = create_graph;
  g.ins_ = frame.ins, g.outs_ = frame.outs, g.grads_ = frame.grads;
  g.in_descs_ = frame.in_descs, g.out_descs_ = frame.out_descs;
  g.wants_ = frame.wants;
  g.results_ = std::span(frame.results.data(), frame.results.size());
  node.op.record().gradient(g);
  for (std::size_t i = 0; i < results.size(); ++i)
    if (frame.wants[i] && frame.results[i]) results[i] = checked(recorder[frame.results[i]], *frame.in_descs[i], i, node);
}

void run_custom(Node& node, bool restricted, bool create_graph, RuleResults& results) {
  std::vector<Value> found = (*node.custom)({node.grads.data(), node.grads.size()});
  if (found.size() != results.size())
    fail_at(node.site, "{} gradients were returned for {} inputs", found.size(), results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Edge& edge = node.edges[i];
    if (!found[i] || !edge || (restricted && !(edge.node()->visited && edge.node()->needed))) continue;
    // What the function recorded on its own account is no part of the result.
    if (!create_graph) found[i] = found[i].detached();
    results[i] = checked(std::move(found[i]), node.input_descs[i]->desc, i, node);
  }
}

}  // namespace

void run_rule(Node& node, EagerRecorder& recorder, bool restricted, bool create_graph, RuleResults& results) {
  struct Cleared {
    EagerRecorder& recorder;
    ~Cleared() { recorder.clear(); }
  } cleared{recorder};
  recorder.set_site(node.site);
  try {
    if (node.custom)
      run_custom(node, restricted, create_graph, results);
    else
      run_checked(node, recorder, restricted, create_graph, results);
  } catch (const AsyncError&) {  // keeps its type; it names the operation and the forward line already
    throw;
  } catch (const Error& error) {
    throw Error(fmt::format("backward of {}: {}", node.op.name(), error.message()), node.site);
  }
}

}  // namespace regrow::autograd
