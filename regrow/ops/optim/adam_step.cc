// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "regrow/kernels/descent.h"
#include "regrow/ops/optimizer.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  check_floating(in, 4);
  require(in[4] == DType::i64, "step is an i64, not {}", name_of(in[4]));
  out[0] = in[0], out[1] = in[2], out[2] = in[3], out[3] = in[4];
}

void infer(const InferCall& call) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  require_in(call.attrs, "beta1", 0, 1), require_in(call.attrs, "beta2", 0, 1);
  require_in(call.attrs, "epsilon", 0, infinity), require_in(call.attrs, "weight_decay", 0, infinity);
  require(call[4].shape.empty(), "step is a scalar, not {}", call[4].shape);
  describe_update(call, {{0, 2, 3, 4}});
}

void compute(const ComputeCall& call) {
  const kernels::Adaptive how{.learning_rate = call.attrs.get<double>("learning_rate"),
                              .beta1 = call.attrs.get<double>("beta1"),
                              .beta2 = call.attrs.get<double>("beta2"),
                              .epsilon = call.attrs.get<double>("epsilon"),
                              .weight_decay = call.attrs.get<double>("weight_decay"),
                              .decoupled = call.attrs.get<bool>("decoupled")};
  const std::int64_t step = std::max<std::int64_t>(*call.in[4].as<const std::int64_t>(), 0) + 1;
  kernels::descend_adaptively(how, step, call.in[0], call.in[1], call.in[2], call.in[3], call.out[0], call.out[1], call.out[2]);
  *call.out[3].as<std::int64_t>() = step;
}

}  // namespace

OpDef adam_step() {
  return {
      .doc =
          "A parameter, the running means of its gradient and of the gradient's square, and the number of steps, after one more "
          "step of Adam "
          "(Kingma & Ba 2015, algorithm 1, both biases corrected), or of AdamW (Loshchilov & Hutter 2019) with decoupled. Means "
          "and counter "
          "start from zeros; the means may be f32 where the parameter is narrower.",
      .inputs = {"param", "grad", "mean", "square", "step"},
      .attributes =
          {{.name = "learning_rate", .type = AttrType::real, .fallback = 1e-3, .doc = "The length of the step."},
           {.name = "beta1", .type = AttrType::real, .fallback = 0.9, .doc = "What mean keeps of itself."},
           {.name = "beta2", .type = AttrType::real, .fallback = 0.999, .doc = "What square keeps of itself."},
           {.name = "epsilon", .type = AttrType::real, .fallback = 1e-8, .doc = "Added to the root of the corrected square."},
           {.name = "weight_decay",
            .type = AttrType::real,
            .fallback = 0.0,
            .doc = "Added to the gradient, times the parameter."},
           {.name = "decoupled",
            .type = AttrType::boolean,
            .fallback = false,
            .doc = "Weight decay shrinks the parameter itself."}},
      .outputs = {"new_param", "new_mean", "new_square", "new_step"},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .state = true,
      .reuse = {0b00001, 0b00100, 0b01000, 0b10000},
      .samples = {{.inputs = {{3, 4}, {3, 4}, {3, 4}, {3, 4}, {}},
                   .dtypes = {DType::f32, DType::f32, DType::f32, DType::f32, DType::i64},
                   .low = 0,
                   .high = 2},
                  {.inputs = {{5}, {5}, {5}, {5}, {}},
                   .attrs = {{"weight_decay", 0.1}, {"decoupled", true}},
                   .dtypes = {DType::bf16, DType::bf16, DType::f32, DType::f32, DType::i64},
                   .low = 0,
                   .high = 2}},
  };
}

}  // namespace regrow::ops
