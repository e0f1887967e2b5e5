// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"

namespace regrow::elementwise {

namespace {

bool repeats(const Desc& x) {
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    if (x.strides[i] == 0 && x.shape[i] > 1) return true;
  return false;
}

}  // namespace

// The order of axes is that of the first operand of the result's shape that repeats no element, unless that is row-major and there
// is a channels-last one: the gradient of a flattened activation comes row-major.
void infer(const InferCall& call) {
  OutDesc& out = call.out[0];
  const Desc& first = call[0];
  bool alike = true;
  for (std::size_t i = 1; i < call.in.size(); ++i) alike = alike && call[i].shape == first.shape;
  out.shape = first.shape;
  if (!alike)
    for (std::size_t i = 1; i < call.in.size(); ++i) out.shape = broadcast_shapes(out.shape, call[i].shape);
  const Desc* like = nullptr;
  for (const Desc* in : call.in) {
    if ((!alike && in->shape != out.shape) || repeats(*in)) continue;
    if (!like || (in->shape.size() == 4 && is_channels_last(in->shape, in->strides) && !in->contiguous())) like = in;
    if (like == in && !like->contiguous()) break;
  }
  out.strides = like ? dense_strides_like(out.shape, like->shape, like->strides) : contiguous_strides(out.shape);
}

DType promoted(std::span<const DType> in) noexcept {
  DType type = in[0];
  for (DType other : in.subspan(1)) type = promote(type, other);
  return type;
}

void any_type(std::span<const DType> in, const Attrs&, std::span<DType> out) { out[0] = promoted(in); }

void numeric(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  out[0] = promoted(in);
  require(out[0] != DType::boolean, "is not defined for bool");
}

void floating(std::span<const DType> in, const Attrs&, std::span<DType> out) { out[0] = floating_type(promoted(in)); }

void boolean(std::span<const DType>, const Attrs&, std::span<DType> out) { out[0] = DType::boolean; }

void give(Gradient& g, std::size_t i, Var grad) {
  if (!g.wants(i)) return;
  const Desc& in = g.in_desc(i);
  grad = sum_to(grad, in.shape);
  if (g.recorder().desc(grad).dtype != in.dtype) grad = op<"cast">({grad}, {{"dtype", in.dtype}});
  g.set(i, grad);
}

std::vector<Sample> binary_samples(double low, double high) {
  std::vector<Sample> samples;
  const std::vector<std::vector<Shape>> shapes = {
      {{2, 3}, {2, 3}}, {{2, 3}, {3}}, {{2, 1}, {1, 3}}, {{2, 3}, Shape{}}, {{0, 3}, {3}}};
  for (const std::vector<Shape>& inputs : shapes) samples.push_back({.inputs = inputs, .low = low, .high = high});
  return samples;
}

}  // namespace regrow::elementwise
