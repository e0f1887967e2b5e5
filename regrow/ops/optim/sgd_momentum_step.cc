// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "regrow/kernels/descent.h"
#include "regrow/ops/optimizer.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  check_floating(in, 3);
  out[0] = in[0], out[1] = in[2];
}

void infer(const InferCall& call) {
  require_in(call.attrs, "weight_decay", 0, std::numeric_limits<double>::infinity());
  require_in(call.attrs, "momentum", 0, std::numeric_limits<double>::infinity());
  describe_update(call, {{0, 2}});
}

void compute(const ComputeCall& call) {
  const kernels::Momentum how{.learning_rate = call.attrs.get<double>("learning_rate"),
                              .momentum = call.attrs.get<double>("momentum"),
                              .dampening = call.attrs.get<double>("dampening"),
                              .weight_decay = call.attrs.get<double>("weight_decay"),
                              .nesterov = call.attrs.get<bool>("nesterov")};
  kernels::descend(how, call.in[0], call.in[1], call.in[2], call.out[0], call.out[1]);
}

}  // namespace

OpDef sgd_momentum_step() {
  return {
      .doc =
          "A parameter and its momentum after one step of gradient descent (Sutskever et al. 2013, as PyTorch has it): "
          "g = grad + weight_decay param; new_buffer = momentum buffer + (1 - dampening) g; new_param = param - learning_rate "
          "new_buffer, or "
          "param - learning_rate (g + momentum new_buffer) with nesterov. The first step starts from a buffer of zeros.",
      .inputs = {"param", "grad", "buffer"},
      .attributes = {{.name = "learning_rate", .type = AttrType::real, .doc = "The length of the step."},
                     {.name = "momentum", .type = AttrType::real, .fallback = 0.9, .doc = "What the buffer keeps of itself."},
                     {.name = "dampening",
                      .type = AttrType::real,
                      .fallback = 0.0,
                      .doc = "What the buffer does not take of the gradient."},
                     {.name = "weight_decay",
                      .type = AttrType::real,
                      .fallback = 0.0,
                      .doc = "Weight of the squared parameter, halved, in the loss."},
                     {.name = "nesterov",
                      .type = AttrType::boolean,
                      .fallback = false,
                      .doc = "Look ahead by one more step of the buffer."}},
      .outputs = {"new_param", "new_buffer"},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .state = true,
      .reuse = {0b001, 0b100},
      .samples = {{.inputs = {{3, 4}, {3, 4}, {3, 4}}, .attrs = {{"learning_rate", 0.1}, {"weight_decay", 0.01}}},
                  {.inputs = {{5}, {5}, {5}}, .attrs = {{"learning_rate", 0.1}, {"nesterov", true}}}},
  };
}

}  // namespace regrow::ops
