// SPDX-License-Identifier: Apache-2.0
#include "regrow/optim/clip.h"

#include "regrow/autograd/grad_mode.h"
#include "regrow/base/error.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"

namespace regrow::optim {
namespace {

DType wide(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

}  // namespace

Tensor clip_grad_norm(const std::vector<Parameter>& parameters, double most, Site site) {
  if (!(most >= 0)) fail_at(site, "clip_grad_norm: the largest norm cannot be {}", most);
  NoGrad guard;
  std::vector<Tensor> squares;
  for (const Parameter& parameter : parameters) {
    const Tensor grad = parameter.grad();
    if (grad.defined()) squares.push_back(sum(square(grad.astype(wide(grad.dtype(site)), site), site), {}, site));
  }
  if (squares.empty()) return zeros({}, {}, site);
  const Tensor norm = sqrt(sum(stack(squares, {}, site), {}, site), site);
  const Tensor scale =
      minimum(Operand(Scalar(most), site) / Operand(norm + Operand(Scalar(1e-6), site), site), Operand(Scalar(1.0), site), site);
  for (const Parameter& parameter : parameters) {
    const Tensor grad = parameter.grad();
    if (grad.defined()) parameter.set_grad((Operand(grad, site) * Operand(scale, site)).astype(grad.dtype(site), site));
  }
  return norm;
}

void clip_grad_value(const std::vector<Parameter>& parameters, double most, Site site) {
  if (!(most >= 0)) fail_at(site, "clip_grad_value: the largest value cannot be {}", most);
  NoGrad guard;
  for (const Parameter& parameter : parameters) {
    const Tensor grad = parameter.grad();
    if (grad.defined())
      parameter.set_grad(minimum(maximum(grad, Operand(Scalar(-most), site), site), Operand(Scalar(most), site), site));
  }
}

}  // namespace regrow::optim
