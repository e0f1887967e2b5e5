// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/copy.h"
#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs& attrs, std::span<DType> out) {
  alignas(8) std::byte element[8];
  write_scalar(attrs.get<Scalar>("value"), in[0], element);  // throws where it does not fit
  out[0] = in[0];
}

void infer(const InferCall& call) {
  const Desc& x = call[0];
  const Dims &before = call.attrs.get<Dims>("before"), &after = call.attrs.get<Dims>("after");
  require(before.size() == x.shape.size() && after.size() == x.shape.size(),
          "before {} and after {} need one value for each axis of {}", before, after, x.shape);
  OutDesc& out = call.out[0];
  out.shape = x.shape;
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    require(before[i] >= 0 && after[i] >= 0, "nothing can be taken away: before {}, after {}", before, after);
    out.shape[i] += before[i] + after[i];
  }
  check_sizes(out.shape);
  out.strides = dense_strides_like(out.shape, x.shape, x.strides);
}

// The elements of `out` from `low` to `high` along each axis.
View slab(const View& out, Desc& desc, const Dims& low, const Dims& high) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < low.size(); ++i) {
    desc.shape[i] = high[i] - low[i];
    offset += low[i] * out.strides()[i];
  }
  return {&desc, out.data + offset * static_cast<std::int64_t>(size_of(out.dtype()))};
}

// Each element is written once: axis by axis the slabs before and after, of what remains of the axes before it.
void compute(const ComputeCall& call) {
  const View &x = call.in[0], &out = call.out[0];
  const Dims& before = call.attrs.get<Dims>("before");
  alignas(8) std::byte element[8];
  write_scalar(call.attrs.get<Scalar>("value"), out.dtype(), element);
  Dims low = Dims::filled(out.shape().size(), 0), high = out.shape();
  Desc part = *out.desc, repeated = *out.desc;
  repeated.strides = Dims::filled(out.shape().size(), 0);
  const auto fill = [&] {
    const View to = slab(out, part, low, high);
    repeated.shape = part.shape;
    kernels::copy({&repeated, element}, to);
  };
  for (std::size_t i = 0; i < low.size(); ++i) {
    const std::int64_t from = before[i], to = from + x.shape()[i], end = high[i];
    high[i] = from, fill();
    low[i] = to, high[i] = end, fill();
    low[i] = from, high[i] = to;
  }
  kernels::copy(x, slab(out, part, low, high));
}

void gradient(Gradient& g) {
  const Dims& before = g.attrs().get<Dims>("before");
  Dims stop = before;
  for (std::size_t i = 0; i < stop.size(); ++i) stop[i] += g.in_desc(0).shape[i];
  g.set(0, op<"slice">({g.grad()}, {{"start", before}, {"stop", stop}, {"step", Dims::filled(stop.size(), 1)}}));
}

}  // namespace

OpDef pad() {
  return {
      .doc = "x with elements of one value before and after it along each axis, in the axis order of its memory.",
      .inputs = {"x"},
      .attributes = {{.name = "before", .type = AttrType::dims, .doc = "How many before, for each axis."},
                     {.name = "after", .type = AttrType::dims, .doc = "How many after, for each axis."},
                     {.name = "value", .type = AttrType::scalar, .fallback = Scalar(0), .doc = "What they are."}},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .gradient = gradient,
      .samples = {{.inputs = {{3, 4}}, .attrs = {{"before", Dims{1, 0}}, {"after", Dims{0, 2}}, {"value", Scalar(1)}}},
                  {.inputs = {{2, 3, 2, 3}}, .attrs = {{"before", Dims{0, 0, 1, 1}}, {"after", Dims{0, 1, 1, 1}}}},
                  {.inputs = {{0, 2}}, .attrs = {{"before", Dims{1, 1}}, {"after", Dims{1, 0}}}},
                  {.inputs = {{}}, .attrs = {{"before", Dims{}}, {"after", Dims{}}}}},
  };
}

}  // namespace regrow::ops
