// SPDX-License-Identifier: Apache-2.0
// Small networks learn random data, and learn it with the same bits however far the program runs ahead of the worker.
#include <gtest/gtest.h>

#include "regrow/engine/default_channel.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/grad.h"
#include "regrow/nn/nn.h"
#include "regrow/ops.h"
#include "regrow/optim/optim.h"

namespace regrow::optim {
namespace {

struct Mlp : nn::Module {
  nn::Linear hidden{8, 32};
  nn::Dropout dropout{0.1};
  nn::Linear output{32, 4};

  Mlp() { add("hidden", hidden), add("dropout", dropout), add("output", output); }
  Tensor operator()(const Tensor& x) const { return output(dropout(relu(hidden(x)))); }
  static Shape input() { return {32, 8}; }
};

struct Cnn : nn::Module {
  nn::Conv2d first{1, 8, 3, {.padding = 1}};
  nn::MaxPool2d pool{2};
  nn::Conv2d second{8, 8, 3};
  nn::Linear output{8 * 2 * 2, 4};

  Cnn() { add("first", first), add("pool", pool), add("second", second), add("output", output); }
  Tensor operator()(const Tensor& x) const { return output(nn::Flatten()(tanh(second(pool(relu(first(x))))))); }
  static Shape input() { return {32, 1, 8, 8}; }
};

struct Outcome {
  float first_loss = 0, last_loss = 0;
  std::vector<std::vector<float>> parameters;
};

template <class Net, class Optimizer, class Options>
Outcome train(int steps, const Options& options) {
  seed(11);
  Net net;
  Optimizer optimizer(net.parameters(), options);
  const Tensor x = normal(Net::input());
  const Tensor labels = randint({32}, 0, 4);
  Outcome outcome;
  Tensor loss;
  for (int i = 0; i < steps; ++i) {
    loss = cross_entropy(net(x), labels);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    if (i == 0) outcome.first_loss = loss.item<float>();
  }
  outcome.last_loss = loss.item<float>();
  for (const Parameter& parameter : net.parameters()) outcome.parameters.push_back(parameter.value().to_vector<float>());
  return outcome;
}

// Runs the same training at every async level and lookahead.
template <class Train>
void expect_same_bits(Train&& run) {
  const std::size_t level_before = get_option("async_level"), lookahead_before = get_option("lookahead");
  const Outcome expected = run();
  for (const std::size_t level : {0, 1, 2})
    for (const std::size_t lookahead : {0, 8, 64}) {
      set_option("async_level", level);
      set_option("lookahead", lookahead);
      EXPECT_EQ(run().parameters, expected.parameters) << "async level " << level << ", lookahead " << lookahead;
    }
  set_option("async_level", level_before);
  set_option("lookahead", lookahead_before);
}

TEST(Training, AnMlpLearnsWithAdam) {
  const Outcome outcome = train<Mlp, Adam>(120, AdamOptions{.learning_rate = 0.02});
  EXPECT_LT(outcome.last_loss, 0.5f * outcome.first_loss);
}

TEST(Training, ACnnLearnsWithMomentum) {
  const Outcome outcome = train<Cnn, SGD>(120, SGDOptions{.learning_rate = 0.05, .momentum = 0.9});
  EXPECT_LT(outcome.last_loss, 0.5f * outcome.first_loss);
}

TEST(Training, OfAnMlpHasTheSameBitsEverywhere) {
  expect_same_bits([] { return train<Mlp, Adam>(100, AdamOptions{.learning_rate = 0.02}); });
}

TEST(Training, OfACnnHasTheSameBitsEverywhere) {
  expect_same_bits([] { return train<Cnn, SGD>(100, SGDOptions{.learning_rate = 0.05, .momentum = 0.9, .nesterov = true}); });
}

}  // namespace
}  // namespace regrow::optim
