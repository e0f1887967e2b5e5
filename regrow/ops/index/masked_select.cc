// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/indexing.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/visit.h"
#include "regrow/tensor/walk.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  require(in[1] == DType::boolean, "a mask is of bool, not {}", name_of(in[1]));
  out[0] = in[0];
}

void infer(const InferCall& call) {
  require_mask_fits(call[0], call[1]);
  call.out[0].known = false;
}

void measure(std::span<const View> in, const Attrs&, std::span<OutDesc> out) {
  out[0].shape = {count_true(in[1])};
  for (std::size_t i = in[1].shape().size(); i < in[0].shape().size(); ++i) out[0].shape.push_back(in[0].shape()[i]);
  out[0].strides = contiguous_strides(out[0].shape);
  out[0].known = true;
}

void compute(const ComputeCall& call) {
  const View &x = call.in[0], &mask = call.in[1], &out = call.out[0];
  if (out.count() == 0) return;
  const MaskedParts parts(*x.desc, mask.shape().size());
  const kernels::CopyPlan plan = kernels::plan_copy(parts.rest, parts.rest_strides, contiguous_strides(parts.rest));
  const bool* flags = mask.as<const bool>();
  visit_unit(x.dtype(), [&]<class Unit>(Type<Unit>) {
    Unit* to = out.as<Unit>();
    walk<2>(mask.shape(), {mask.strides(), parts.mask_strides}, [&](std::int64_t flag, std::int64_t at) {
      if (!flags[flag]) return;
      kernels::run_copy(plan, x.as<const Unit>() + at, to);
      to += out.strides()[0];
    });
  });
}

void gradient(Gradient& g) {
  const Var zero = g.recorder().constant(0, g.in_desc(0).dtype, g.grad());
  const Var zeros = op<"broadcast_to">({zero}, {{"shape", g.in_desc(0).shape}});
  g.set(0, op<"masked_scatter">(zeros, g.in(1), g.grad()));
}

}  // namespace

OpDef masked_select() {
  return {
      .doc =
          "The parts of x where the mask is true, in row-major order. The mask has the shape of x, or of its leading axes. "
          "How many there are is known when the operation has run.",
      .inputs = {"x", "mask"},
      .dtypes = dtypes,
      .infer = infer,
      .measure = measure,
      .compute = compute,
      .gradient = gradient,
      .saves_inputs = 0b10,
      .samples = {{.inputs = {{3, 4}, {3, 4}}, .dtypes = {DType::f64, DType::boolean}},
                  {.inputs = {{5, 2}, {5}}, .dtypes = {DType::f64, DType::boolean}},
                  {.inputs = {{}, {}}, .dtypes = {DType::f64, DType::boolean}},
                  {.inputs = {{0, 2}, {0, 2}}, .dtypes = {DType::f64, DType::boolean}}},
  };
}

}  // namespace regrow::ops
