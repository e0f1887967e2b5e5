// SPDX-License-Identifier: Apache-2.0
// Checkpoints: going on gives the bits of never having stopped; what does not fit changes nothing.
#include "regrow/io/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "regrow/engine/default_channel.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"
#include "regrow/frontend/grad.h"
#include "regrow/nn/nn.h"
#include "regrow/optim/optim.h"
#include "tests/io/file_contents.h"

namespace regrow::io {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Parameters, a buffer, random operations.
struct Net : nn::Module {
  nn::Linear hidden{4, 8}, output{8, 1};
  nn::Dropout dropout{0.25};
  nn::Buffer mean{zeros({8})};

  Net() { add("hidden", hidden), add("dropout", dropout), add("output", output), add("mean", mean); }
  Tensor operator()(const Tensor& x) const {
    const Tensor h = tanh(hidden(x));
    mean.set_value(mean.value() * 0.9 + regrow::mean(h.detach(), {.axis = 0}) * 0.1);
    return output(dropout(h - mean.value()));
  }
};

struct Training {
  Net net;
  optim::AdamW optimizer{{net.hidden.weight(), net.output.weight()}, {.learning_rate = 0.02, .weight_decay = 0.1}};
  std::int64_t step = 0;

  Training() { optimizer.add_group({net.hidden.bias(), net.output.bias()}, {.learning_rate = 0.01, .weight_decay = 0}); }
  void run(int steps) {
    const optim::Schedule schedule = optim::warm_up(5, optim::cosine(40));
    for (int i = 0; i < steps; ++i) {
      optimizer.scale_learning_rate(schedule(step++));
      const Tensor x = normal({16, 4});
      optimizer.zero_grad();
      mean(square(net(x) - sum(x, {.axis = 1, .keepdims = true}))).backward();
      optim::clip_grad_norm(optimizer.parameters(), 1);
      optimizer.step();
    }
  }
  CheckpointParts parts() { return {.module = &net, .optimizer = &optimizer, .metadata = {{"step", std::to_string(step)}}}; }
  std::vector<std::vector<float>> values() const {
    std::vector<std::vector<float>> all;
    for (const auto& [name, value] : net.state_dict()) all.push_back(value.to_vector<float>());
    return all;
  }
};

TEST(Checkpoint, GoingOnGivesTheBitsOfNeverHavingStopped) {
  const TemporaryFolder folder;
  seed(21);
  Training straight;
  straight.run(10);
  save_checkpoint(folder.path() / "c", straight.parts());
  straight.run(15);
  Training resumed;  // draws other first values
  resumed.run(2);
  resumed.step = integer_of(load_checkpoint(folder.path() / "c", resumed.parts()), "step");
  EXPECT_EQ(resumed.step, 10);
  resumed.run(15);
  EXPECT_EQ(resumed.values(), straight.values());
}

TEST(Checkpoint, SavingChangesNothing) {
  const TemporaryFolder folder;
  std::vector<std::vector<float>> expected;
  for (const bool save : {false, true}) {
    seed(22);
    Training training;
    training.run(5);
    if (save) save_checkpoint(folder.path() / "c", training.parts());
    training.run(5);
    if (!save) expected = training.values();
    EXPECT_EQ(training.values(), expected);
  }
}

TEST(Checkpoint, HasTheNamesOfPyTorchsStateDictionary) {
  const TemporaryFolder folder;
  Training training;
  save_checkpoint(folder.path() / "c", training.parts());
  const SafetensorsReader reader(folder.path() / "c");
  for (const char* name : {"hidden.weight", "hidden.bias", "output.weight", "output.bias", "mean", "optimizer.0.mean",
                           "optimizer.3.step", "optimizer.group.1.learning_rate"})
    EXPECT_NE(reader.find(name), nullptr) << name;
  EXPECT_EQ(reader.entries().size(), 5 + 4 * 3 + 2u);
  EXPECT_EQ(reader.metadata().at("step"), "0");
  EXPECT_EQ(read_metadata(folder.path() / "c").at("format"), "pt");
}

TEST(Checkpoint, OfAModuleAloneOrForOneAlone) {
  const TemporaryFolder folder;
  Training training, other;
  training.run(3);
  save_checkpoint(folder.path() / "all", training.parts());
  const RandomState before = default_channel().random_state();
  load_checkpoint(folder.path() / "all", {.module = &other.net, .random_state = false});
  EXPECT_EQ(other.values(), training.values());
  EXPECT_EQ(default_channel().random_state(), before);
  save_checkpoint(folder.path() / "net", {.module = &training.net, .random_state = false});
  EXPECT_THAT(error_message([&] { load_checkpoint(folder.path() / "net", other.parts()); }), HasSubstr("no \"regrow.random_key\""));
  EXPECT_THAT(error_message([&] { load_checkpoint(folder.path() / "net", {.optimizer = &other.optimizer, .random_state = false}); }),
              HasSubstr("the optimizer: missing: 0.mean"));
}

struct Wider : nn::Module {
  nn::Linear hidden{4, 9};
  nn::Linear extra{1, 1};
  Wider() { add("hidden", hidden), add("extra", extra); }
};

TEST(Checkpoint, WhatDoesNotFitChangesNothing) {
  const TemporaryFolder folder;
  Training training;
  training.run(3);
  const auto path = folder.path() / "c";
  save_checkpoint(path, training.parts());
  Wider wider;
  const std::vector<float> before = wider.hidden.bias().value().to_vector<float>();
  EXPECT_THAT(error_message([&] { load_checkpoint(path, {.module = &wider}); }),
              AllOf(HasSubstr("missing: extra.weight, extra.bias"), HasSubstr("unexpected: "), HasSubstr("output.weight"),
                    HasSubstr("hidden.weight is f32(8, 4), not f32(9, 4)")));
  EXPECT_EQ(wider.hidden.bias().value().to_vector<float>(), before);

  // The module fits, the optimizer does not: neither changes, nor does the random state.
  Training other;
  optim::SGD sgd(other.net.parameters(), {.momentum = 0.5});
  const auto values = other.values();
  const RandomState random = default_channel().random_state();
  EXPECT_THAT(error_message([&] { load_checkpoint(path, {.module = &other.net, .optimizer = &sgd}); }), HasSubstr("0.buffer"));
  EXPECT_EQ(other.values(), values);
  EXPECT_EQ(default_channel().random_state(), random);
}

// B200
TEST(Checkpoint, CutAnywhereItIsRefusedAndNothingChanges) {
  const TemporaryFolder folder;
  Training training, other;
  save_checkpoint(folder.path() / "c", training.parts());
  const std::string whole = contents(folder.path() / "c");
  const auto before = other.values();
  for (std::size_t size = 0; size < whole.size(); size += 1 + size / 50)
    EXPECT_THROW(load_checkpoint(folder.write("d", whole.substr(0, size)), other.parts()), Error) << size;
  EXPECT_THROW(load_checkpoint(folder.write("d", whole + '\0'), other.parts()), Error);
  EXPECT_EQ(other.values(), before);
}

TEST(Checkpoint, SaysWhichNamesAreTaken) {
  const TemporaryFolder folder;
  nn::Module module;
  module.add("optimizer", nn::Linear(1, 1));
  EXPECT_THAT(error_message([&] { save_checkpoint(folder.path() / "c", {.module = &module}); }), HasSubstr("'optimizer'"));
  EXPECT_THAT(error_message([&] {
                save_checkpoint(folder.path() / "c", {.metadata = {{"regrow.x", ""}}});
              }),
              HasSubstr("\"regrow.x\""));
  EXPECT_EQ(folder.files(), 0u);
}

TEST(Checkpoint, NumbersAmongTheMetadataAreChecked) {
  const Metadata metadata = {{"step", "12"}, {"bad", "12x"}, {"far", "99999999999999999999"}, {"below", "-3"}};
  EXPECT_EQ(integer_of(metadata, "step"), 12);
  EXPECT_EQ(integer_of(metadata, "below"), -3);
  for (const char* name : {"bad", "far", "missing"}) EXPECT_THROW(integer_of(metadata, name), Error) << name;
}

// A value that was never good is not saved as if it were.
TEST(Checkpoint, APoisonedValueFailsTheSaveAndLeavesTheOldFile) {
  const TemporaryFolder folder;
  nn::Module module;
  const nn::Buffer buffer = module.add("b", nn::Buffer(zeros({2})));
  const auto path = folder.path() / "c";
  save_checkpoint(path, {.module = &module});
  const std::string before = contents(path);
  buffer.set_value(take(ones({3}), tensor({0, 7})));
  EXPECT_THROW(save_checkpoint(path, {.module = &module}), AsyncError);
  EXPECT_EQ(contents(path), before);
  EXPECT_EQ(folder.files(), 1u);
}

}  // namespace
}  // namespace regrow::io
