// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "regrow/kernels/descent.h"
#include "regrow/ops/optimizer.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  check_floating(in, 2);
  out[0] = in[0];
}

void infer(const InferCall& call) {
  require_in(call.attrs, "weight_decay", 0, std::numeric_limits<double>::infinity());
  describe_update(call, {{0}});
}

void compute(const ComputeCall& call) {
  const kernels::Momentum how{.learning_rate = call.attrs.get<double>("learning_rate"),
                              .weight_decay = call.attrs.get<double>("weight_decay")};
  kernels::descend(how, call.in[0], call.in[1], {}, call.out[0], {});
}

}  // namespace

OpDef sgd_step() {
  return {
      .doc = "A parameter after one step of gradient descent: param - learning_rate (grad + weight_decay param).",
      .inputs = {"param", "grad"},
      .attributes = {{.name = "learning_rate", .type = AttrType::real, .doc = "The length of the step."},
                     {.name = "weight_decay",
                      .type = AttrType::real,
                      .fallback = 0.0,
                      .doc = "Weight of the squared parameter, halved, in the loss."}},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .state = true,
      .reuse = {0b01},
      .samples = {{.inputs = {{3, 4}, {3, 4}}, .attrs = {{"learning_rate", 0.1}, {"weight_decay", 0.01}}},
                  {.inputs = {{}, {}}, .attrs = {{"learning_rate", 0.1}}}},
  };
}

}  // namespace regrow::ops
