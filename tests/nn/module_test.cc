// SPDX-License-Identifier: Apache-2.0
// Modules as handles: sharing, deep copies, names, modes; layers against NumPy and hand calculation.
#include "regrow/nn/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "regrow/engine/default_channel.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/grad.h"
#include "regrow/nn/nn.h"

namespace regrow::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class F>
std::string message_of(F&& run) {
  try {
    run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

struct Net : Module {
  Linear hidden{2, 3};
  Dropout dropout{0.5};
  Linear output{3, 1};
  Parameter scale{tensor({2.f})};

  Net() { add("hidden", hidden), add("dropout", dropout), add("output", output), add("scale", scale); }
  Tensor operator()(const Tensor& x) const { return output(dropout(tanh(hidden(x)))) * scale.value(); }
};

std::vector<std::string> names_of(const Module& module) {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : module.named_parameters()) names.push_back(name);
  return names;
}

TEST(Module, NamesParametersByTheirPath) {
  const Net net;
  EXPECT_THAT(names_of(net), ElementsAre("scale", "hidden.weight", "hidden.bias", "output.weight", "output.bias"));
  EXPECT_EQ(net.parameters().size(), 5u);
}

TEST(Module, CopiesShareParametersAndMode) {
  const Net net;
  const Net copy = net;
  copy.scale.set_value(tensor({5.f}));
  EXPECT_EQ(net.scale.value().item<float>(), 5.f);
  copy.eval();
  EXPECT_FALSE(net.dropout.training());
  EXPECT_TRUE(net.parameters() == copy.parameters());
}

TEST(Module, CloneIsDeep) {
  const Net net;
  const Net twin = clone(net);
  twin.eval();
  EXPECT_TRUE(net.training());
  EXPECT_TRUE(net.dropout.training());
  const Tensor x = ones({1, 2});
  net.eval();
  EXPECT_EQ(net(x).item<float>(), twin(x).item<float>());  // the same values
  for (const Parameter& parameter : twin.parameters()) parameter.set_value(zeros_like(parameter.value()));
  EXPECT_EQ(twin(x).item<float>(), 0.f);  // its members are what its tree names
  EXPECT_EQ(net.scale.value().item<float>(), 2.f);
  EXPECT_EQ(names_of(twin), names_of(net));
}

TEST(Module, CloneOfASequentialIsDeep) {
  const Sequential net(Linear(2, 2), ReLU());
  const Sequential twin = clone(net);
  for (const Parameter& parameter : twin.parameters()) parameter.set_value(zeros_like(parameter.value()));
  EXPECT_THAT(twin(ones({1, 2})).to_vector<float>(), ElementsAre(0, 0));
  EXPECT_FALSE(net.parameters().at(0) == twin.parameters().at(0));
}

TEST(Module, SharedParametersAreListedOnce) {
  Module module;
  const Linear layer(2, 2);
  module.add("first", layer);
  module.add("again", layer);
  EXPECT_THAT(names_of(module), ElementsAre("first.weight", "first.bias"));
}

TEST(Module, RefusesWrongNamesAndItself) {
  Module module, child;
  module.add("child", child);
  EXPECT_THAT(message_of([&] { module.add("child", Linear(1, 1)); }), HasSubstr("'child' already"));
  EXPECT_THAT(message_of([&] { module.add("a.b", Linear(1, 1)); }), HasSubstr("module_test.cc"));
  EXPECT_THAT(message_of([&] { child.add("parent", module); }), HasSubstr("contain itself"));
}

// As a layer with running statistics has them.
struct Counting : Module {
  Parameter scale = add("scale", Parameter(tensor({2.f})));
  Buffer seen = add("seen", Buffer(zeros({1})));
  Tensor operator()(const Tensor& x) const {
    if (training()) seen.set_value(seen.value() + 1);
    return x * scale.value();
  }
};

TEST(Module, BuffersAreSharedByCopiesAndClonedDeeply) {
  const Counting counting;
  const Counting copy = counting, twin = clone(counting);
  copy(ones({1}));
  counting.eval();
  copy(ones({1}));
  EXPECT_EQ(counting.seen.value().item<float>(), 1.f);
  EXPECT_EQ(twin.seen.value().item<float>(), 0.f);
  EXPECT_TRUE(twin.named_buffers().at(0).second == twin.seen);
  EXPECT_THAT(message_of([&] { copy.seen.set_value(ones({2})); }), HasSubstr("f32(2,)"));
}

TEST(Module, BuffersCarryNoGradient) {
  const Counting counting;
  counting.seen.set_value(counting.scale.value() * 3);
  EXPECT_FALSE(counting.seen.value().needs_grad());
  EXPECT_EQ(counting.seen.value().item<float>(), 6.f);
}

TEST(Module, GradientsReachTheSharedCell) {
  const Net net;
  net.eval();
  sum(net(ones({4, 2}))).backward();
  for (const Parameter& parameter : net.parameters()) EXPECT_EQ(parameter.grad().shape(), parameter.value().shape());
  net.zero_grad();
  EXPECT_FALSE(net.scale.grad().defined());
}

TEST(Parameter, RebindingKeepsTheCellAndOldValues) {
  const Parameter parameter(tensor({1.f, 2.f}));
  const Tensor old = parameter.value();
  parameter.set_value(tensor({3.f, 4.f}));
  EXPECT_THAT(old.to_vector<float>(), ElementsAre(1, 2));
  sum(parameter.value() * 2).backward();
  EXPECT_THAT(parameter.grad().to_vector<float>(), ElementsAre(2, 2));
  EXPECT_THAT(message_of([&] { parameter.set_value(ones({3})); }), HasSubstr("f32(3,)"));
}

TEST(Linear, IsXTimesWTransposedPlusB) {
  const Linear layer(3, 2);
  layer.weight().set_value(tensor({{1.f, 2.f, 3.f}, {4.f, 5.f, 6.f}}));
  layer.bias().set_value(tensor({10.f, 20.f}));
  EXPECT_THAT(layer(tensor({{1.f, 0.f, -1.f}})).to_vector<float>(), ElementsAre(8, 18));
  EXPECT_EQ(layer(ones({2, 5, 3})).shape(), (Shape{2, 5, 2}));
  EXPECT_EQ(Linear(3, 2, {.bias = false}).parameters().size(), 1u);
}

TEST(Initializers, StayWithinTheirBounds) {
  seed(3);
  const Linear layer(16, 1000);
  const Tensor weight = layer.weight().value().detach();
  EXPECT_LE(max(weight).item<float>(), 0.25f);  // 1 / sqrt(16)
  EXPECT_GT(max(weight).item<float>(), 0.249f);
  EXPECT_GE(min(weight).item<float>(), -0.25f);
  EXPECT_NEAR(var(weight).item<float>(), 0.25f * 0.25f / 3, 1e-3f);
  EXPECT_LE(max(xavier_uniform({50, 100})).item<float>(), 0.2f);      // sqrt(6 / 150)
  EXPECT_LE(max(kaiming_uniform({8, 4, 3, 2})).item<float>(), 0.5f);  // sqrt(6 / 24)
  const Fans fans = fans_of({8, 4, 3, 2});
  EXPECT_EQ(fans.in, 24);
  EXPECT_EQ(fans.out, 48);
}

TEST(Conv2d, HasPyTorchsShapes) {
  const Conv2d layer(4, 6, 3, {.stride = 2, .padding = {1, 0}, .groups = 2});
  EXPECT_EQ(layer.weight().value().shape(), (Shape{6, 2, 3, 3}));
  EXPECT_EQ(layer(ones({2, 4, 7, 9})).shape(), (Shape{2, 6, 4, 4}));
  EXPECT_THAT(message_of([] { Conv2d(3, 4, 3, {.groups = 2}); }), HasSubstr("groups"));
}

TEST(Conv2d, AddsItsBiasToEveryPixel) {
  const Conv2d layer(1, 2, 1);
  layer.weight().set_value(ones({2, 1, 1, 1}));
  layer.bias().set_value(tensor({10.f, 20.f}));
  EXPECT_THAT(layer(ones({1, 1, 1, 2})).to_vector<float>(), ElementsAre(11, 11, 21, 21));
}

TEST(MaxPool2d, StepsByItsKernel) {
  const Tensor x = arange(16.f).reshape({1, 1, 4, 4});
  EXPECT_THAT(MaxPool2d(2)(x).to_vector<float>(), ElementsAre(5, 7, 13, 15));
  EXPECT_EQ(MaxPool2d(2, {.stride = 1})(x).shape(), (Shape{1, 1, 3, 3}));
}

TEST(Dropout, IsTheIdentityInEvaluation) {
  const Dropout dropout(0.5);
  dropout.eval();
  const RandomState before = default_channel().random_state();
  const Tensor x = ones({100});
  EXPECT_TRUE(all(dropout(x) == x).item<bool>());
  EXPECT_EQ(default_channel().random_state(), before);
  dropout.train();
  EXPECT_FALSE(all(dropout(x) == x).item<bool>());
  EXPECT_THAT(message_of([] { Dropout(1.0); }), HasSubstr("module_test.cc"));
}

}  // namespace
}  // namespace regrow::nn
