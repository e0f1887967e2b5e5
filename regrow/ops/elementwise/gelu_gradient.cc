// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/gelu.h"

#include "regrow/ops/elementwise.h"

namespace regrow::ops {
namespace {

kernels::TileKernel tile(std::span<const DType> in, const Attrs& attrs) {
  return kernels::binary(gelu_by_tanh(attrs) ? kernels::Binary::gelu_tanh_gradient : kernels::Binary::gelu_gradient,
                         elementwise::floating_type(elementwise::promoted(in)));
}

}  // namespace

OpDef gelu_gradient() {
  OpDef def = elementwise::binary<kernels::Binary::gelu_gradient, elementwise::Types::floating>(
      "grad times the slope of gelu at x: the gradient of gelu.");
  def.inputs = {"grad", "x"};
  def.attributes = gelu_attributes();
  def.dtypes = gelu_dtypes;
  def.tile = tile;
  def.samples.push_back({.inputs = {{2, 3}, {2, 3}}, .attrs = {{"approximate", std::string("tanh")}}});
  return def;
}

}  // namespace regrow::ops
