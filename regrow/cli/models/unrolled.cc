// SPDX-License-Identifier: Apache-2.0
// Learning to learn (Finn, Abbeel, Levine 2017): ten training steps of a small network on a sine curve, differentiated through,
// so that the initial weights become ones from which ten steps are enough.
#include <numbers>

#include "regrow/base/hash.h"
#include "regrow/cli/models/model.h"
#include "regrow/data/random.h"

namespace regrow::cli {
namespace {

constexpr int inner_steps = 10;
constexpr double inner_rate = 0.02;
constexpr std::int64_t steps_per_epoch = 500, held_out_curves = 50;

struct Net : nn::Module {
  nn::ModuleList<nn::Linear> layers;

  explicit Net(const Extent& extent) {
    layers.push_back(nn::Linear(1, extent.width));
    for (std::int64_t i = 1; i < extent.depth; ++i) layers.push_back(nn::Linear(extent.width, extent.width));
    layers.push_back(nn::Linear(extent.width, 1));
    add("layers", layers);
  }
  // Weight and bias of each layer, as values that can be moved along their gradients.
  std::vector<Tensor> weights() const {
    std::vector<Tensor> values;
    for (const nn::Linear& layer : layers) values.insert(values.end(), {layer.weight().value(), layer.bias().value()});
    return values;
  }
  static Tensor error(const std::vector<Tensor>& weights, Tensor x, const Tensor& y) {
    for (std::size_t i = 0; i < weights.size(); i += 2) {
      x = linear(x, weights[i], weights[i + 1]);
      if (i + 2 < weights.size()) x = tanh(x);
    }
    return mse_loss(x, y);
  }
};

// Points of one curve to learn from, and others to be judged by: x, y, x, y, each (points, 1).
Batch curve(std::uint64_t seed, std::int64_t step, std::int64_t points) {
  data::SplitMix64 random(hash_combine(seed, static_cast<std::uint64_t>(step)));
  const double amplitude = 0.1 + 4.9 * random.uniform(), phase = std::numbers::pi * random.uniform();
  Batch batch;
  for (int set = 0; set < 2; ++set) {
    std::vector<float> x, y;
    for (std::int64_t i = 0; i < points; ++i) {
      x.push_back(static_cast<float>(10 * random.uniform() - 5));
      y.push_back(static_cast<float>(amplitude * std::sin(x.back() - phase)));
    }
    batch.push_back(HostArray::from(x, {points, 1}));
    batch.push_back(HostArray::from(y, {points, 1}));
  }
  return batch;
}

Tensor loss_after_training(const Net& net, const Batch& batch) {
  const Tensor x = tensor(batch[0]), y = tensor(batch[1]);
  std::vector<Tensor> weights = net.weights();
  for (int step = 0; step < inner_steps; ++step) {
    const std::vector<Tensor> slopes = grad(Net::error(weights, x, y), weights, {.create_graph = true});
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = weights[i] - inner_rate * slopes[i];
  }
  return Net::error(weights, tensor(batch[2]), tensor(batch[3]));
}

Model make(const Setting& setting) {
  const Net net(setting.extent);
  const std::int64_t points = setting.extent.batch;
  const auto held_out = [net, points, seed = hash_combine(setting.seed, 1)] {
    GradMode slopes_are_needed(true);
    double loss = 0;
    for (std::int64_t i = 0; i < held_out_curves; ++i) loss += loss_after_training(net, curve(seed, i, points)).item<float>();
    return loss / held_out_curves;
  };
  return {.module = net,
          .steps_per_epoch = steps_per_epoch,
          .batch = [points, seed = setting.seed](std::int64_t step) { return curve(seed, step, points); },
          .loss = [net](const Batch& batch) { return loss_after_training(net, batch); },
          .measure = held_out};
}

}  // namespace

ModelSpec unrolled() {
  return {.name = "unrolled",
          .doc = "ten training steps of a small network on a sine curve, differentiated through; --batch: points of a curve",
          .units = "points",
          .measure = "held_out_loss",
          .data = "",
          .small = {.width = 32, .depth = 2, .batch = 32},
          .medium = {.width = 64, .depth = 3, .batch = 512},
          .large = {.width = 128, .depth = 4, .batch = 2048},
          .learning_rate = 1e-3,
          .epochs = 1,
          .optimizer = adamw,
          .make = make};
}

}  // namespace regrow::cli
