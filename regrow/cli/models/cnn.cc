// SPDX-License-Identifier: Apache-2.0
// A convolutional network: a convolution that halves the image, then `depth` convolutions with batch norm at 14 x 14 and as many,
// twice as wide, at 7 x 7, dropout, a linear layer.
#include "regrow/cli/models/images.h"

namespace regrow::cli {
namespace {

struct Block : nn::Module {
  nn::Conv2d conv;
  nn::BatchNorm2d norm;

  Block(std::int64_t in, std::int64_t out, std::int64_t stride)
      : conv(in, out, 3, {.stride = stride, .padding = 1, .bias = false}), norm(out) {
    add("conv", conv), add("norm", norm);
  }
  Tensor operator()(const Tensor& x) const { return relu(norm(conv(x))); }
};

struct Cnn : nn::Module {
  nn::ModuleList<Block> fine, coarse;
  nn::Dropout dropout;
  nn::Linear output;

  explicit Cnn(const Setting& setting) : dropout(setting.dropout ? 0.1 : 0), output(7 * 7 * 2 * setting.extent.width, 10) {
    const std::int64_t width = setting.extent.width;
    fine.push_back(Block(1, width, 2));
    for (std::int64_t i = 0; i < setting.extent.depth; ++i) {
      fine.push_back(Block(width, width, 1));
      coarse.push_back(Block(i == 0 ? width : 2 * width, 2 * width, 1));
    }
    add("fine", fine), add("coarse", coarse), add("dropout", dropout), add("output", output);
  }
  Tensor operator()(const Tensor& images) const {
    Tensor x = images;
    for (const Block& block : fine) x = block(x);
    x = max_pool2d(x, 2);
    for (const Block& block : coarse) x = block(x);
    return output(dropout(x.reshape({x.shape()[0], -1})));
  }
};

Model make(const Setting& setting) {
  const Cnn net(setting);
  return classifier(net, net, read_images(setting));
}

}  // namespace

ModelSpec cnn() {
  return {.name = "cnn",
          .doc = "3 x 3 convolutions with batch norm at two scales, dropout",
          .units = "images",
          .measure = "accuracy",
          .data = "a folder with IDX files as MNIST has them (Fashion-MNIST)",
          .small = {.width = 32, .depth = 1, .batch = 20},
          .medium = {.width = 16, .depth = 8, .batch = 128},
          .large = {.width = 32, .depth = 10, .batch = 256},
          .learning_rate = 1e-3,
          .epochs = 1,
          .optimizer = adamw,
          .make = make};
}

}  // namespace regrow::cli
