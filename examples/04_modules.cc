// SPDX-License-Identifier: Apache-2.0
// A module of one's own: named parts, training and evaluation, what sharing and cloning mean.
#include <regrow/regrow.h>

#include <iostream>

namespace rg = regrow;
namespace nn = regrow::nn;

// x + f(x), a building block.
struct Residual : nn::Module {
  nn::Linear widen, narrow;
  nn::Dropout dropout{0.2};

  explicit Residual(std::int64_t width) : widen(width, 4 * width), narrow(4 * width, width) {
    add("widen", widen), add("narrow", narrow), add("dropout", dropout);
  }
  rg::Tensor operator()(const rg::Tensor& x) const { return x + dropout(narrow(rg::relu(widen(x)))); }
};

struct Net : nn::Module {
  nn::ModuleList<Residual> blocks;
  nn::Linear output{8, 1};

  Net() {
    for (int i = 0; i < 2; ++i) blocks.push_back(Residual(8));
    add("blocks", blocks), add("output", output);
  }
  rg::Tensor operator()(rg::Tensor x) const {
    for (const Residual& block : blocks) x = block(x);
    return output(x);
  }
};

int main() {
  rg::seed(2);
  Net net;
  for (const auto& [name, parameter] : net.named_parameters())
    std::cout << name << " " << rg::to_string(parameter.value().shape()) << "\n";

  // In training dropout draws anew each time; in evaluation it does nothing.
  rg::Tensor x = rg::normal({4, 8});
  std::cout << "training: " << rg::flatten(net(x)) << ", then " << rg::flatten(net(x)) << "\n";
  net.eval();
  std::cout << "evaluation: " << rg::flatten(net(x)) << "\n";

  // A copy is another handle to the same parameters; a clone has its own.
  Net same = net;
  Net twin = nn::clone(net);
  const rg::Parameter bias = net.parameters().back();
  bias.set_value(bias.value() + 1);
  const bool shared = rg::all(same(x) == net(x)).item<bool>(), apart = rg::all(twin(x) != net(x)).item<bool>();
  std::cout << "after a change the copy agrees: " << shared << ", the clone is as before: " << apart << "\n";
  return shared && apart ? 0 : 1;
}
