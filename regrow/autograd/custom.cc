// SPDX-License-Identifier: Apache-2.0
#include "regrow/autograd/custom.h"

#include <algorithm>

#include "regrow/autograd/grad_mode.h"
#include "regrow/autograd/node.h"
#include "regrow/autograd/pool.h"

namespace regrow::autograd {
namespace {

const OpRecord& custom_record() {
  static const OpRecord& record = *[] {
    auto* custom = new OpRecord;
    custom->name = "custom_gradient";
    return custom;
  }();
  return record;
}

}  // namespace

std::vector<Value> with_gradient(std::span<const Value> inputs, std::span<const Value> outputs, CustomGradient gradient,
                                 Site site) {
  std::vector<Value> results;
  for (const Value& output : outputs) {
    if (!output) fail_at(site, "custom_gradient: output {} is an empty tensor", results.size());
    results.push_back(output.detached());
  }
  if (!grad_enabled() || std::none_of(inputs.begin(), inputs.end(), [](const Value& input) { return input.needs_grad(); }))
    return results;
  auto node = Shared<Node>::adopt(Pool<Node>::make(Op(custom_record()), site));
  for (const Value& input : inputs) {
    node->edges.push_back(input.edge());
    node->input_descs.push_back(input.known_desc(site));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    node->output_descs.push_back(results[i].known_desc(site));
    if (is_floating(node->output_descs[i]->desc.dtype))
      results[i].set_edge({Shared<Recorded>::of(node.get()), static_cast<std::uint32_t>(i)});
  }
  node->custom = std::make_unique<const CustomGradient>(std::move(gradient));
  return results;
}

}  // namespace regrow::autograd
