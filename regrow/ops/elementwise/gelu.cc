// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"
#include "regrow/ops/gelu.h"

namespace regrow::ops {
namespace {

kernels::TileKernel tile(std::span<const DType> in, const Attrs& attrs) {
  return kernels::unary(gelu_by_tanh(attrs) ? kernels::Unary::gelu_tanh : kernels::Unary::gelu, elementwise::floating_type(in[0]));
}

// The slope in operators that have gradients themselves.
Var slope(Var x, bool by_tanh) {
  const double root_2_over_pi = 0.79788456080286536, inverse_root_2 = 0.70710678118654752, inverse_root_2_pi = 0.39894228040143268;
  const Var square = op<"square">(x);
  if (!by_tanh) {
    const Var density = op<"exp">(square * Scalar(-0.5)) * Scalar(inverse_root_2_pi);
    return (op<"erf">(x * Scalar(inverse_root_2)) + Scalar(1)) * Scalar(0.5) + x * density;
  }
  const Var s = op<"sigmoid">(x * Scalar(2 * root_2_over_pi) * (square * Scalar(0.044715) + Scalar(1)));
  const Var inner = (square * Scalar(3 * 0.044715) + Scalar(1)) * Scalar(2 * root_2_over_pi);
  return s + x * s * (s * Scalar(-1) + Scalar(1)) * inner;
}

void gradient(Gradient& g) {
  const Var x = g.in(0);
  elementwise::give(g, 0,
                    g.recorded() ? g.grad() * slope(x, gelu_by_tanh(g.attrs()))
                                 : op<"gelu_gradient">({g.grad(), x}, {{"approximate", g.attrs().value("approximate")}}));
}

}  // namespace

OpDef gelu() {
  OpDef def = elementwise::unary<kernels::Unary::gelu, elementwise::Types::floating>(
      "x times the probability that a standard normal number is below x (Hendrycks and Gimpel 2016).");
  def.attributes = gelu_attributes();
  def.dtypes = gelu_dtypes;
  def.tile = tile;
  def.gradient = gradient;
  def.saves_inputs = 0b1;
  def.samples.push_back({.inputs = {{2, 3}}, .attrs = {{"approximate", std::string("tanh")}}});
  return def;
}

}  // namespace regrow::ops
