// SPDX-License-Identifier: Apache-2.0
#include "regrow/cli/models.h"

#include <algorithm>
#include <utility>

namespace regrow::cli {
namespace {

struct Mlp : nn::Module {
  nn::Linear hidden{28 * 28, 256};
  nn::Linear output{256, 10};

  Mlp() { add("hidden", hidden), add("output", output); }
  Tensor operator()(const Tensor& images) { return output(relu(hidden(images.reshape({-1, 28 * 28})))); }
};

// Two blocks of convolution and pooling, then two linear layers.
struct Cnn : nn::Module {
  nn::Conv2d first{1, 32, 3, {.padding = 1}};
  nn::Conv2d second{32, 64, 3, {.padding = 1}};
  nn::Linear hidden{64 * 7 * 7, 128};
  nn::Dropout dropout{0.1};
  nn::Linear output{128, 10};

  Cnn() { add("first", first), add("second", second), add("hidden", hidden), add("dropout", dropout), add("output", output); }
  Tensor operator()(const Tensor& images) {
    Tensor x = max_pool2d(relu(first(images)), 2);
    x = max_pool2d(relu(second(x)), 2);
    return output(dropout(relu(hidden(x.reshape({-1, 64 * 7 * 7})))));
  }
};

template <class Net>
Model make() {
  Net net;
  return {net, [net](const Tensor& images) mutable { return net(images); }};
}

constexpr ModelSpec models[] = {
    {"mlp", "784-256-10, relu", 1e-3, 64, make<Mlp>},
    {"cnn", "two 3x3 convolutions with pooling, two linear layers, dropout", 2e-3, 32, make<Cnn>},
};

}  // namespace

std::span<const ModelSpec> all_models() { return models; }

const ModelSpec* find_model(std::string_view name) {
  const auto found = std::ranges::find(models, name, &ModelSpec::name);
  return found == std::end(models) ? nullptr : found;
}

}  // namespace regrow::cli
