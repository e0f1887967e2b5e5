// SPDX-License-Identifier: Apache-2.0
// Gradients of any order: Newton's method finds the minimum of a function with its first and second derivatives.
#include <regrow/regrow.h>

#include <cmath>
#include <iostream>

namespace rg = regrow;

int main() {
  // Two leaves: what is computed from them can be differentiated.
  rg::Tensor x = rg::tensor({1.f, 2.f, 3.f}).requires_grad();
  rg::Tensor scale = rg::tensor(0.5f).requires_grad();
  rg::sum(scale * x * x * x).backward();
  std::cout << "d/dx = " << x.grad() << ", d/dscale = " << scale.grad() << "\n";  // 1.5 x^2, sum x^3

  // f(t) = exp(t) - 3 t for five starting points at once; the minimum is at log 3.
  rg::Tensor t = rg::linspace(-1, 3, 5, {.dtype = rg::DType::f64});
  for (int step = 0; step < 16; ++step) {
    t = t.detach().requires_grad();
    rg::Tensor value = rg::sum(rg::exp(t) - 3 * t);
    // create_graph: the gradient is a function too, and can be differentiated in turn.
    rg::Tensor slope = rg::grad(value, {t}, {.create_graph = true}).at(0);
    rg::Tensor curvature = rg::grad(rg::sum(slope), {t}).at(0);
    t = t - slope / curvature;
  }
  std::cout << "minima found at " << t << ", log 3 = " << std::log(3.0) << "\n";
  return rg::all(rg::abs(t - std::log(3.0)) < 1e-9).item<bool>() ? 0 : 1;
}
