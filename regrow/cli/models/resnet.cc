// SPDX-License-Identifier: Apache-2.0
// A residual network for images of CIFAR's size (He, Zhang, Ren, Sun 2016, section 4.2): 6 n + 2 layers in three stages, 20 or 32
// of them, where the shape changes a 1 x 1 convolution as the way past. Fashion-MNIST gets a black border to 32 x 32 and keeps
// its one channel.
#include <fmt/format.h>

#include <optional>

#include "regrow/cli/commands.h"
#include "regrow/cli/models/images.h"

namespace regrow::cli {
namespace {

// Convolution without bias, then batch norm.
struct NormedConv : nn::Module {
  nn::Conv2d conv;
  nn::BatchNorm2d norm;

  NormedConv(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t stride)
      : conv(in, out, kernel, {.stride = stride, .padding = kernel / 2, .bias = false}), norm(out) {
    add("conv", conv), add("norm", norm);
  }
  Tensor operator()(const Tensor& x) const { return norm(conv(x)); }
};

struct Block : nn::Module {
  NormedConv first, second;
  std::optional<NormedConv> past;

  Block(std::int64_t in, std::int64_t out, std::int64_t stride) : first(in, out, 3, stride), second(out, out, 3, 1) {
    add("first", first), add("second", second);
    if (in != out || stride != 1) add("past", past.emplace(in, out, 1, stride));
  }
  Tensor operator()(const Tensor& x) const { return relu(second(relu(first(x))) + (past ? (*past)(x) : x)); }
};

struct ResNet : nn::Module {
  NormedConv first;
  nn::ModuleList<Block> blocks;
  nn::Linear output;

  explicit ResNet(const Extent& extent) : first(1, extent.width, 3, 1), output(4 * extent.width, 10) {
    std::int64_t in = extent.width;
    for (std::int64_t stage = 0; stage < 3; ++stage) {
      for (std::int64_t i = 0; i < (extent.depth - 2) / 6; ++i) {
        const std::int64_t out = extent.width << stage;
        blocks.push_back(Block(in, out, in == out ? 1 : 2));
        in = out;
      }
    }
    add("first", first), add("blocks", blocks), add("output", output);
  }
  Tensor operator()(const Tensor& images) const {
    Tensor x = relu(first(images));
    for (const Block& block : blocks) x = block(x);
    return output(mean(x, {.axis = {2, 3}}));
  }
};

Model make(const Setting& setting) {
  const std::int64_t depth = setting.extent.depth;
  if (depth < 8 || depth % 6 != 2) throw UsageError(fmt::format("resnet: a depth of {} is not 6 n + 2, as 20 and 32 are", depth));
  const ResNet net(setting.extent);
  return classifier(net, net, read_images(setting, {.pad = 2}));
}

}  // namespace

ModelSpec resnet() {
  return {.name = "resnet",
          .doc = "residual network, --depth 20 or 32, on images of CIFAR's size, 32 x 32",
          .units = "images",
          .measure = "accuracy",
          .data = "a folder with IDX files as MNIST has them (Fashion-MNIST)",
          .small = {.width = 8, .depth = 8, .batch = 16},
          .medium = {.width = 16, .depth = 32, .batch = 64},
          .large = {.width = 32, .depth = 32, .batch = 128},
          .learning_rate = 0.02,
          .epochs = 1,
          .optimizer = sgd,
          .make = make};
}

}  // namespace regrow::cli
