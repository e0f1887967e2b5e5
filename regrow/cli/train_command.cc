// SPDX-License-Identifier: Apache-2.0
// `regrow train`: its options, and its result as text and JSON.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "regrow/base/units.h"
#include "regrow/cli/commands.h"
#include "regrow/cli/progress.h"
#include "regrow/cli/train.h"
#include "regrow/kernels/parallel.h"

namespace regrow::cli {
namespace {

// What the line said; the rest comes from the model or the engine.
struct Line {
  std::string model, data, json;
  std::int64_t epochs = 1;
  std::optional<std::int64_t> steps, batch;
  std::optional<double> learning_rate;
  std::uint64_t seed = 0;
  std::optional<int> threads;
  std::optional<std::size_t> async_level, lookahead;
};

std::string positive_number(const std::string& text) {
  std::size_t read = 0;
  double value = 0;
  try {
    value = std::stod(text, &read);
  } catch (const std::exception&) {
    read = 0;
  }
  const bool ok = read == text.size() && !text.empty() && std::isfinite(value) && value > 0;
  return ok ? std::string() : "'" + text + "' is not a positive number";
}

// What the engine takes for an option.
CLI::Range range_of(std::string_view option) {
  for (const OptionSpec& spec : option_specs()) {
    if (spec.name == option) return CLI::Range(spec.least, spec.most);
  }
  fail("no option is named '{}'", option);
}

void set_engine(const Line& line) {
  if (line.threads) kernels::set_kernel_threads(*line.threads);
  if (line.async_level) default_channel().set_option("async_level", *line.async_level);
  if (line.lookahead) default_channel().set_option("lookahead", *line.lookahead);
}

void print(const TrainResult& result) {
  fmt::print("model       {} ({} parameters)\n", result.model, result.parameters);
  fmt::print("steps       {} in {}, {:.2f} ms each (median)\n", result.steps, format_duration(result.seconds),
             1e3 * result.seconds_per_step);
  fmt::print("operators   {}\n", result.operators);
  fmt::print("memory      {} at most\n", format_bytes(result.peak_bytes));
  fmt::print("parameters  xxh64 {}\n", result.params_hash);
  fmt::print("loss        {:.4f}\n", result.loss);
  fmt::print("accuracy    {:.2f} % of the test images\n", 100 * result.accuracy);
}

void write(const TrainResult& result, std::ofstream& file, const std::string& path) {
  const nlohmann::ordered_json json = {
      {"model", result.model},
      {"steps", result.steps},
      {"seconds_per_step", result.seconds_per_step},
      {"loss", result.loss},
      {"accuracy", result.accuracy},
      {"params_hash", result.params_hash},
      {"peak_bytes", result.peak_bytes},
      {"operators", result.operators},
  };
  file << json.dump(2) << "\n";
  file.close();
  require(file.good(), "{}: cannot be written", path);
}

int run_train(const Line& line) {
  const ModelSpec& model = *find_model(line.model);
  std::ofstream file;
  if (!line.json.empty()) {
    file.open(line.json, std::ios::binary);
    require(file.good(), "{}: cannot be written", line.json);
  }
  set_engine(line);
  const TrainResult result = train({.model = &model,
                                    .data = line.data,
                                    .epochs = line.epochs,
                                    .steps = line.steps,
                                    .batch = line.batch.value_or(model.batch),
                                    .learning_rate = line.learning_rate.value_or(model.learning_rate),
                                    .seed = line.seed});
  print(result);
  if (!line.json.empty()) write(result, file, line.json);
  return 0;
}

}  // namespace

Command add_train(CLI::App& app) {
  auto line = std::make_shared<Line>();
  CLI::App* command = app.add_subcommand("train", "Train a model on labelled images and measure it");
  std::vector<std::string> names;
  std::string docs = "What to train", batches, rates;
  for (const ModelSpec& model : all_models()) {
    names.emplace_back(model.name);
    docs += fmt::format("{} {}: {}", names.size() > 1 ? ";" : ".", model.name, model.doc);
    batches += fmt::format("{}{} {}", names.size() > 1 ? ", " : "", model.name, model.batch);
    rates += fmt::format("{}{} {}", names.size() > 1 ? ", " : "", model.name, model.learning_rate);
  }
  const CLI::Validator positive(positive_number, "POSITIVE", "positive");
  const CLI::Range count(std::int64_t{1}, std::int64_t{1} << 40);
  command->add_option("model", line->model, docs)->required()->check(CLI::IsMember(names));
  command->add_option("--data", line->data, "Folder with the IDX files of MNIST or the like; default: Debian's Fashion-MNIST")
      ->type_name("PATH");
  CLI::Option* epochs = command->add_option("--epochs", line->epochs, "Passes over the training images (1)")->check(count);
  command->add_option("--steps", line->steps, "Batches, instead of whole passes")->check(count)->excludes(epochs);
  command->add_option("--batch", line->batch, "Images a step (" + batches + ")")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 20));
  command
      ->add_option("--learning-rate", line->learning_rate,
                   "Adam's at the first step; it falls to 0 in a straight line (" + rates + ")")
      ->check(positive);
  command->add_option("--seed", line->seed, "Of the initial parameters, the order of images and the dropout (0)");
  command->add_option("--threads", line->threads, "Threads for kernels (all processors)")->check(CLI::Range(1, 1024));
  command->add_option("--async-level", line->async_level, "0: every call waits, 1: where the shape is unknown, 2: none (2)")
      ->check(range_of("async_level"));
  command->add_option("--lookahead", line->lookahead, "Commands held back for fusion (32)")->check(range_of("lookahead"));
  command->add_option("--json", line->json, "Write the result to this file")->type_name("FILE");
  return [line] { return run_train(*line); };
}

}  // namespace regrow::cli
