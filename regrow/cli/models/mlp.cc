// SPDX-License-Identifier: Apache-2.0
// A perceptron of many layers: x + relu(linear(x)), again and again, over images that are shrunk to 14 x 14.
#include "regrow/cli/models/images.h"

namespace regrow::cli {
namespace {

constexpr std::int64_t pixels = 14 * 14;

struct Mlp : nn::Module {
  nn::Linear first;
  nn::ModuleList<nn::Linear> blocks;
  nn::Linear last;

  explicit Mlp(const Extent& extent) : first(pixels, extent.width), last(extent.width, 10) {
    for (std::int64_t i = 0; i < extent.depth; ++i) blocks.push_back(nn::Linear(extent.width, extent.width));
    add("first", first), add("blocks", blocks), add("last", last);
  }
  Tensor operator()(const Tensor& images) const {
    Tensor x = relu(first(images.reshape({-1, pixels})));
    for (const nn::Linear& block : blocks) x = x + relu(block(x));
    return last(x);
  }
};

Model make(const Setting& setting) {
  const Mlp net(setting.extent);
  return classifier(net, net, read_images(setting, {.shrink = 2}));
}

}  // namespace

ModelSpec mlp() {
  return {.name = "mlp",
          .doc = "linear layers with a way past each, on images of 14 x 14",
          .units = "images",
          .measure = "accuracy",
          .data = "a folder with IDX files as MNIST has them (Fashion-MNIST)",
          .small = {.width = 64, .depth = 2, .batch = 64},
          .medium = {.width = 64, .depth = 36, .batch = 2048},
          .large = {.width = 128, .depth = 48, .batch = 4096},
          .learning_rate = 1e-3,
          .epochs = 1,
          .optimizer = adamw,
          .make = make};
}

}  // namespace regrow::cli
