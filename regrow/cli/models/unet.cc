// SPDX-License-Identifier: Apache-2.0
// A U-net (Ronneberger, Fischer, Brox 2015) that takes noise off images: at each of three scales `depth` convolutions with group
// norm on the way down and as many on the way up, where what was there on the way down is set beside.
#include <algorithm>

#include "regrow/base/hash.h"
#include "regrow/cli/models/images.h"
#include "regrow/data/random.h"

namespace regrow::cli {
namespace {

struct Conv : nn::Module {
  nn::Conv2d conv;
  nn::GroupNorm norm;

  Conv(std::int64_t in, std::int64_t out) : conv(in, out, 3, {.padding = 1, .bias = false}), norm(out % 4 == 0 ? 4 : 1, out) {
    add("conv", conv), add("norm", norm);
  }
  Tensor operator()(const Tensor& x) const { return relu(norm(conv(x))); }
};

// `depth` convolutions.
struct Stage : nn::Module {
  nn::ModuleList<Conv> convs;

  Stage(std::int64_t in, std::int64_t out, std::int64_t depth) {
    for (std::int64_t i = 0; i < depth; ++i) convs.push_back(Conv(i == 0 ? in : out, out));
    add("convs", convs);
  }
  Tensor operator()(Tensor x) const {
    for (const Conv& conv : convs) x = conv(x);
    return x;
  }
};

struct Unet : nn::Module {
  Stage down1, down2, bottom, up2, up1;
  nn::Conv2d output;

  explicit Unet(const Extent& e)
      : down1(1, e.width, e.depth),
        down2(e.width, 2 * e.width, e.depth),
        bottom(2 * e.width, 2 * e.width, e.depth),
        up2(4 * e.width, e.width, e.depth),
        up1(2 * e.width, e.width, e.depth),
        output(e.width, 1, 1) {
    add("down1", down1), add("down2", down2), add("bottom", bottom), add("up2", up2), add("up1", up1), add("output", output);
  }
  // The noise that is to be taken off.
  Tensor operator()(const Tensor& noisy) const {
    const Tensor fine = down1(noisy);
    const Tensor middle = down2(max_pool2d(fine, 2));
    Tensor x = bottom(max_pool2d(middle, 2));
    x = up2(concat({middle, upsample(x, 2)}, {.axis = 1}));
    x = up1(concat({fine, upsample(x, 2)}, {.axis = 1}));
    return output(x);
  }
};

// Noisy images and the noise in them: normal, for each image of a deviation between 0 and 1.
Batch with_noise(const HostArray& images, std::uint64_t seed, std::int64_t step) {
  data::SplitMix64 random(hash_combine(seed, static_cast<std::uint64_t>(step)));
  std::vector<float> pixels = images.to_vector<float>(), noise(pixels.size());
  const std::size_t each = pixels.size() / static_cast<std::size_t>(images.shape()[0]);
  double deviation = 0;
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (i % each == 0) deviation = random.uniform();
    noise[i] = static_cast<float>(deviation * random.normal());
    pixels[i] += noise[i];
  }
  return {HostArray::from(pixels, images.shape()), HostArray::from(noise, images.shape())};
}

Model make(const Setting& setting) {
  const Unet net(setting.extent);
  const auto sets = read_images(setting);
  const auto loss = [net](const Batch& batch) { return mse_loss(net(tensor(batch[0])), tensor(batch[1])); };
  const std::int64_t batches = sets->train.batches();
  const std::int64_t some = std::max<std::int64_t>(1, 1000 / setting.extent.batch);
  const auto held_out = [sets, loss, some, seed = hash_combine(setting.seed, 1)] {
    double sum = 0;
    const std::int64_t count = std::min(sets->test.batches(), some);
    for (std::int64_t i = 0; i < count; ++i) sum += loss(with_noise(sets->test.batch(0, i).images, seed, i)).item<float>();
    return count == 0 ? 0 : sum / static_cast<double>(count);
  };
  return {.module = net,
          .steps_per_epoch = batches,
          .batch =
              [sets, batches, seed = setting.seed](std::int64_t step) {
                return with_noise(sets->train.batch(step / batches, step % batches).images, seed, step);
              },
          .loss = loss,
          .measure = held_out};
}

}  // namespace

ModelSpec unet() {
  return {.name = "unet",
          .doc = "a U-net that takes noise off images",
          .units = "images",
          .measure = "held_out_loss",
          .data = "a folder with IDX files as MNIST has them (Fashion-MNIST)",
          .small = {.width = 8, .depth = 1, .batch = 16},
          .medium = {.width = 16, .depth = 6, .batch = 64},
          .large = {.width = 32, .depth = 8, .batch = 128},
          .learning_rate = 1e-3,
          .epochs = 1,
          .optimizer = adamw,
          .make = make};
}

}  // namespace regrow::cli
