// SPDX-License-Identifier: Apache-2.0
// `regrow train`: its options, and its result as text and JSON.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "regrow/base/units.h"
#include "regrow/cli/checkpoint.h"
#include "regrow/cli/commands.h"
#include "regrow/cli/engine_options.h"
#include "regrow/cli/in_child.h"
#include "regrow/cli/progress.h"
#include "regrow/cli/train.h"

namespace regrow::cli {
namespace {

// One of the sizes that a model is made of.
struct SizeOption {
  const char* names;
  std::int64_t Extent::*size;
  const char* doc;
};
constexpr SizeOption size_options[] = {
    {"--width", &Extent::width, "Features of a layer"},
    {"--depth", &Extent::depth, "Layers or blocks"},
    {"--batch", &Extent::batch, "Items a step"},
    {"--length,--sequence-length", &Extent::length, "Of a sequence"},
};

// What the line said; the rest comes from the checkpoint, the model or the engine.
struct Line {
  std::string model, size, data, json, checkpoint, resume, budget, spill, trace;
  std::optional<std::int64_t> epochs, steps, sizes[std::size(size_options)];
  std::optional<double> learning_rate;
  std::optional<std::uint64_t> seed;
  EngineOptions engine;
};

const Extent& extent_of(const ModelSpec& model, const std::string& size) {
  return size == "small" ? model.small : size == "large" ? model.large : model.medium;
}

// Takes what the checkpoint says; the line may say the same, but nothing else.
template <class T>
void agree(const std::optional<T>& said, T stored, std::string_view option, const Line& line) {
  if (said && *said != stored) throw UsageError(fmt::format("{} {}: {} was made with {}", option, *said, line.resume, stored));
}

TrainOptions options_of(const Line& line) {
  const ModelSpec& model = *find_model(line.model);
  TrainOptions options;
  options.model = &model;
  options.epochs = line.epochs.value_or(model.epochs);
  options.steps = line.steps;
  options.learning_rate = line.learning_rate.value_or(model.learning_rate);
  options.checkpoint = line.checkpoint;
  options.resume = line.resume;
  options.trace = line.trace;
  if (!line.budget.empty()) options.budget = BudgetWish(line.budget);
  options.setting.data = line.data;
  if (!line.data.empty() && model.data.empty())
    throw UsageError(fmt::format("--data: {} generates what it learns from", model.name));
  for (std::size_t i = 0; i < std::size(size_options); ++i) {
    if (line.sizes[i] && model.medium.*size_options[i].size == 0)
      throw UsageError(fmt::format("{}: {} has no such size", size_options[i].names, model.name));
  }
  if (line.resume.empty()) {
    options.setting.extent = extent_of(model, line.size);
    for (std::size_t i = 0; i < std::size(size_options); ++i)
      options.setting.extent.*size_options[i].size = line.sizes[i].value_or(options.setting.extent.*size_options[i].size);
    options.setting.seed = line.seed.value_or(0);
    return options;
  }
  const Training before = read_training(line.resume);
  if (before.model != &model)
    throw UsageError(fmt::format("{} is a checkpoint of {}, not {}", line.resume, before.model->name, line.model));
  for (std::size_t i = 0; i < std::size(size_options); ++i)
    agree(line.sizes[i], before.extent.*size_options[i].size, size_options[i].names, line);
  agree(line.seed, before.seed, "--seed", line);
  options.setting.extent = before.extent;
  options.setting.seed = before.seed;
  options.setting.vocabulary = before.vocabulary;
  options.learning_rate = line.learning_rate.value_or(before.learning_rate);
  return options;
}

std::string measured(const TrainResult& result, std::string_view measure) {
  if (measure == "accuracy") return fmt::format("{:.2f} % of what it had not seen", 100 * result.measure);
  return fmt::format("{:.4f} on what it had not seen", result.measure);
}

void print(const TrainResult& result, std::string_view measure) {
  fmt::print("model       {} ({} parameters)\n", result.model, result.parameters);
  fmt::print("steps       {} in {}, {:.2f} ms each (median)\n", result.steps, format_duration(result.seconds),
             1e3 * result.seconds_per_step);
  fmt::print("operators   {}\n", result.operators);
  fmt::print("memory      {} at most\n", format_bytes(result.peak_bytes));
  fmt::print("floor       {} of parameters and optimizer state, {} for the largest operation: {:.1f} % of that\n",
             format_bytes(result.state_bytes), format_bytes(result.working_set_bytes), 100 * result.floor_share());
  if (result.budget.budget_bytes > 0) fmt::print("{}", result.budget.text());
  if (result.weight_reorders > 0)
    fmt::print("reorders    {:.0f} of activations and {:.0f} of weights in a step\n", result.activation_reorders,
               result.weight_reorders);
  fmt::print("parameters  xxh64 {}\n", result.params_hash);
  fmt::print("loss        {:.4f}\n", result.loss);
  fmt::print("{:<11} {}\n", measure == "held_out_loss" ? "held out" : measure, measured(result, measure));
}

void write(const TrainResult& result, std::string_view measure, std::ofstream& file, const std::string& path) {
  nlohmann::ordered_json json = {{"model", result.model}};
  for (const SizeOption& option : size_options) {
    const std::string_view first = std::string_view(option.names).substr(2);
    if (result.extent.*option.size > 0) json[std::string(first.substr(0, first.find(',')))] = result.extent.*option.size;
  }
  json["steps"] = result.steps;
  json["seconds_per_step"] = result.seconds_per_step;
  json["loss"] = result.loss;
  json[std::string(measure)] = result.measure;
  json["params_hash"] = result.params_hash;
  json["parameters"] = result.parameters;
  json["peak_bytes"] = result.peak_bytes;
  json["state_bytes"] = result.state_bytes;
  json["working_set_bytes"] = result.working_set_bytes;
  json["floor_share"] = result.floor_share();
  json["operators"] = result.operators;
  result.budget.add_to(json);
  json["activation_reorders_per_step"] = result.activation_reorders;
  json["weight_reorders_per_step"] = result.weight_reorders;
  file << json.dump(2) << "\n";
  file.close();
  require(file.good(), "{}: cannot be written", path);
}

int run_train(const Line& line) {
  const TrainOptions options = options_of(line);
  if (!line.checkpoint.empty()) {  // it will be written beside its name, and take that when it is complete
    const std::filesystem::path folder = std::filesystem::absolute(line.checkpoint).parent_path();
    require(access(folder.c_str(), W_OK) == 0, "{}: cannot be written", line.checkpoint);
  }
  std::ofstream file;
  if (!line.json.empty()) {
    file.open(line.json, std::ios::binary);
    require(file.good(), "{}: cannot be written", line.json);
  }
  std::size_t peak = 0;
  if (options.budget.is_relative()) {
    peak = in_child([&] {
      line.engine.apply();
      return unlimited_peak(options);
    });
  }
  line.engine.apply();
  if (!line.spill.empty()) set_spill_directory(line.spill);
  const TrainResult result = train(options, peak);
  print(result, options.model->measure);
  if (!line.json.empty()) write(result, options.model->measure, file, line.json);
  return 0;
}

std::string doc_of(const SizeOption& option) {
  std::string doc = option.doc;
  std::string_view separator = ": ";
  for (const ModelSpec& model : all_models()) {
    if (model.medium.*option.size == 0) continue;
    doc += fmt::format("{}{} {}", std::exchange(separator, ", "), model.name, model.medium.*option.size);
  }
  return doc;
}

void add_models(CLI::App& command, Line& line) {
  std::vector<std::string> names;
  std::string docs = "What to train", rates, epochs, data = "What to learn from";
  for (const ModelSpec& model : all_models()) {
    const bool first = names.empty();
    names.emplace_back(model.name);
    docs += fmt::format("{} {}: {}", first ? "." : ";", model.name, model.doc);
    rates += fmt::format("{}{} {}", first ? "" : ", ", model.name, model.learning_rate);
    epochs += fmt::format("{}{} {}", first ? "" : ", ", model.name, model.epochs);
    if (!model.data.empty()) data += fmt::format("{} {}: {}", first ? "." : ";", model.name, model.data);
  }
  command.add_option("model", line.model, docs)->required()->check(CLI::IsMember(names));
  command.add_option("--data", line.data, data)->type_name("PATH");
  CLI::Option* passes =
      command.add_option("--epochs", line.epochs, "Passes over the data, resumed ones included (" + epochs + ")")
          ->check(counts());
  command.add_option("--steps", line.steps, "Steps, resumed ones included; instead of passes")->check(counts())->excludes(passes);
  command
      .add_option("--learning-rate", line.learning_rate,
                  "At the first step; it falls as 1 / sqrt(1 + step / 1000) (" + rates + ")")
      ->check(positive_number());
}

}  // namespace

Command add_train(CLI::App& app) {
  auto line = std::make_shared<Line>();
  CLI::App* command = app.add_subcommand("train", "Train a model and measure it");
  add_models(*command, *line);
  command->add_option("--size", line->size, "Sizes to begin with, before the options that follow (medium)")
      ->check(CLI::IsMember({"small", "medium", "large"}));
  for (std::size_t i = 0; i < std::size(size_options); ++i) {
    command->add_option(size_options[i].names, line->sizes[i], doc_of(size_options[i]))
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
  }
  command->add_option("--seed", line->seed, "Of the initial parameters, the order of the data and all chance (0)");
  command->add_option("--checkpoint", line->checkpoint, "Write everything that is needed to go on to this file, after each epoch")
      ->type_name("FILE");
  command->add_option("--resume", line->resume, "Go on from this checkpoint, with its sizes, seed and learning rate")
      ->type_name("FILE")
      ->excludes("--size");
  command
      ->add_option("--budget", line->budget,
                   "Memory to keep to: 512MiB, or 30% of what the model takes without a budget, which is measured first")
      ->type_name("BYTES|N%");
  command->add_option("--spill", line->spill, "Let what a budget evicts go to a file in this directory, where that is cheaper")
      ->type_name("DIR");
  command->add_option("--trace", line->trace, "Write one step to this file, for `regrow plan`")->type_name("FILE");
  line->engine.add_to(*command);
  command->add_option("--json", line->json, "Write the result to this file")->type_name("FILE");
  return [line] { return run_train(*line); };
}

}  // namespace regrow::cli
