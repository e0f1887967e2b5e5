// SPDX-License-Identifier: Apache-2.0
// The models that `regrow train` knows: an open list, one entry and one file each. Main thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "regrow/data/text.h"
#include "regrow/regrow.h"

namespace regrow::cli {

// What a model's size is made of; 0: it has no such thing.
struct Extent {
  std::int64_t width = 0;   // features of a layer
  std::int64_t depth = 0;   // layers, blocks
  std::int64_t batch = 0;   // items a step
  std::int64_t length = 0;  // of a sequence
};

// What a model is made for.
struct Setting {
  Extent extent;
  std::uint64_t seed = 0;
  std::filesystem::path data;                                 // empty: what the model learns from by default
  bool dropout = true;                                        // off: to be compared with another implementation
  std::optional<data::Vocabulary> vocabulary = std::nullopt;  // of a model of text that was trained before
  bool learns = true;                                         // false, for a model of text with a vocabulary: no data is read
};

// What one step learns from. The first axis of the last array counts the items.
using Batch = std::vector<HostArray>;

// A model and what it learns from.
struct Model {
  nn::Module module;
  std::int64_t steps_per_epoch = 0;
  std::function<Batch(std::int64_t step)> batch = {};   // a function of the seed and the step alone
  std::function<Tensor(const Batch& batch)> loss = {};  // the mean over the items
  std::function<double()> measure = {};  // how good it is on what it never learned from; in evaluation, without gradients
  std::function<Tensor(const Tensor&)> logits = {};  // models of text: (n, length) -> (n, length, vocabulary)
  data::Vocabulary vocabulary = {};
};

using MakeOptimizer = std::unique_ptr<optim::Optimizer> (*)(std::vector<Parameter> parameters, double learning_rate);

struct ModelSpec {
  std::string_view name, doc;
  std::string_view units;    // what its items are: "images"
  std::string_view measure;  // what Model::measure gives: "accuracy", "perplexity", "held_out_loss"
  std::string_view data;     // what --data names; empty: its data is generated
  Extent small, medium, large;
  double learning_rate;
  std::int64_t epochs;  // where the user says nothing
  MakeOptimizer optimizer;
  Model (*make)(const Setting& setting);  // draws its initial parameters from the default channel's random numbers
};

std::span<const ModelSpec> all_models();
const ModelSpec* find_model(std::string_view name);  // null if there is none

// One file each. Error on an extent that makes no network.
ModelSpec mlp();
ModelSpec cnn();
ModelSpec resnet();
ModelSpec unet();
ModelSpec lstm();
ModelSpec gpt();
ModelSpec treelstm();
ModelSpec unrolled();

// AdamW (Loshchilov and Hutter 2019) with weight decay 0.01.
std::unique_ptr<optim::Optimizer> adamw(std::vector<Parameter> parameters, double learning_rate);
// Nesterov's momentum 0.9 with weight decay 0.0005.
std::unique_ptr<optim::Optimizer> sgd(std::vector<Parameter> parameters, double learning_rate);

}  // namespace regrow::cli
