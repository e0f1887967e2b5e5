// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/copy.h"
#include "regrow/ops/region.h"
#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  require(in[0] == in[1], "the value is {}, not {}", name_of(in[1]), name_of(in[0]));
  out[0] = in[0];
}

void infer(const InferCall& call) {
  const Region region = region_of(call[0], call.attrs);
  (void)strides_broadcast_to(call[1], region.shape);
  call.out[0].shape = call[0].shape;
  call.out[0].strides = dense_strides_like(call[0].shape, call[0].shape, call[0].strides);
}

void compute(const ComputeCall& call) {
  const View &x = call.in[0], &value = call.in[1], &out = call.out[0];
  if (out.data != x.data) kernels::copy(x, out);
  const Region region = region_of(*out.desc, call.attrs);
  Desc from = *value.desc, to = *out.desc;
  from.strides = strides_broadcast_to(*value.desc, region.shape);
  from.shape = to.shape = region.shape;
  to.strides = region.strides;
  kernels::copy({&from, value.data}, {&to, out.data + region.offset * static_cast<std::int64_t>(size_of(out.dtype()))});
}

void gradient(Gradient& g) {
  const Attrs& attrs = g.attrs();
  const AttrArg start{"start", attrs.value("start")}, stop{"stop", attrs.value("stop")}, step{"step", attrs.value("step")},
      squeeze{"squeeze", attrs.value("squeeze")};
  if (g.wants(0)) {
    const Var zero = g.recorder().constant(0, g.in_desc(0).dtype, g.grad());
    g.set(0, op<"set_slice">({g.grad(), zero}, {start, stop, step, squeeze}));
  }
  if (g.wants(1)) g.set(1, sum_to(op<"slice">({g.grad()}, {start, stop, step, squeeze}), g.in_desc(1).shape));
}

}  // namespace

OpDef set_slice() {
  return {
      .doc = "x with the elements that slice would give replaced by `value`, which broadcasts to them.",
      .inputs = {"x", "value"},
      .attributes = region_attributes(),
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .reuse = {0b1},
      .gradient = gradient,
      .samples = {{.inputs = {{5, 4}, {2, 4}}, .attrs = {{"start", Dims{1, 3}}, {"stop", Dims{5, -1}}, {"step", Dims{2, -1}}}},
                  {.inputs = {{3, 4}, {}},
                   .attrs = {{"start", Dims{2, 0}}, {"stop", Dims{3, 4}}, {"step", Dims{1, 3}}, {"squeeze", Dims{0}}}},
                  {.inputs = {{3}, {1}}, .attrs = {{"start", Dims{2}}, {"stop", Dims{1}}, {"step", Dims{1}}}}},
  };
}

}  // namespace regrow::ops
