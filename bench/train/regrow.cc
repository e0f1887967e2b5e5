// SPDX-License-Identifier: Apache-2.0
// Training steps of a model of `regrow train`, for running beside another implementation, or beside itself in a budget: at one
// learning rate, and without dropout unless it is asked for.
//
// With --export it writes what the other side begins with, initial values and batches, as a safetensors file, and prints the
// losses of as many steps. With --turns it does what standard input says: "N" on a line runs N steps and prints how long they
// took; "report", and the end of the input, print what the memory was like.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "regrow/base/clock.h"
#include "regrow/cli/budget.h"
#include "regrow/cli/models/model.h"
#include "regrow/remat/bounds.h"
#include "regrow/remat/trace_file.h"

namespace regrow::cli {
namespace {

struct Question {
  const ModelSpec* spec = nullptr;
  Extent extent;
  int batches = 20;
  bool dropout = false;
  std::size_t budget_bytes = 0;        // 0: none
  std::string spill = {}, trace = {};  // empty: nothing is spilled; no trace is written
};

class Run {
 public:
  explicit Run(const Question& question) {
    const ModelSpec& spec = *question.spec;
    seed(1);
    model_ = spec.make({.extent = question.extent, .seed = 1, .data = {}, .dropout = question.dropout});
    optimizer_ = spec.optimizer(model_.module.parameters(), spec.learning_rate);
    for (int i = 0; i < question.batches; ++i) batches_.push_back(model_.batch(i));
    model_.batch = {}, model_.measure = {};  // and with them the data set
  }
  const Model& model() const { return model_; }
  const std::vector<Batch>& batches() const { return batches_; }

  Tensor step() {
    const Tensor loss = model_.loss(batches_[next_++ % batches_.size()]);
    loss.backward();
    optimizer_->step();
    optimizer_->zero_grad();
    return loss.detach();
  }

 private:
  Model model_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::vector<Batch> batches_;
  std::size_t next_ = 0;
};

// Bytes, of a line such as "VmHWM:  1234 kB".
std::size_t process_memory(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoul(line.substr(name.size() + 1)) * 1024;
  }
  return 0;
}

void export_start(const Run& run, const Question& question, const std::string& path) {
  const Extent& extent = question.extent;
  io::NamedTensors arrays;
  for (const auto& [name, value] : run.model().module.state_dict()) arrays.emplace_back("initial." + name, value);
  for (std::size_t i = 0; i < run.batches().size(); ++i) {
    for (std::size_t k = 0; k < run.batches()[i].size(); ++k)
      arrays.emplace_back(fmt::format("batch.{}.{}", i, k), tensor(run.batches()[i][k]));
  }
  io::save_safetensors(path, arrays,
                       {{"model", std::string(question.spec->name)},
                        {"width", std::to_string(extent.width)},
                        {"depth", std::to_string(extent.depth)},
                        {"batch", std::to_string(extent.batch)},
                        {"length", std::to_string(extent.length)},
                        {"vocabulary", std::to_string(run.model().vocabulary.size())},
                        {"learning_rate", fmt::format("{}", question.spec->learning_rate)}});
}

void print_losses(Run& run) {
  std::vector<Tensor> losses;
  for (std::size_t i = 0; i < run.batches().size(); ++i) losses.push_back(run.step());
  nlohmann::json values;
  for (const Tensor& loss : losses) values.push_back(loss.item<float>());
  std::cout << nlohmann::json{{"losses", values}} << std::endl;
}

// What memory and budget were like since the model was made.
class Account {
 public:
  explicit Account(const Question& question) : question_(question), before_bytes_(process_memory("VmRSS")) {
    if (!question.spill.empty()) set_spill_directory(question.spill);
    if (question.budget_bytes > 0) set_memory_budget(question.budget_bytes);
    reset_peak_memory();
    before_ = memory();
  }
  // The step that begins is one of those that are recorded, unless the one before it was.
  void step_begins() {
    if (question_.trace.empty()) return;
    default_channel().record_step({}, [this](const RecordedStep& step) {
      if (std::exchange(number_, step.number) == step.number) return;  // two requests may be served by one step
      trace_ = step.trace;
      operator_seconds_ += step.trace.seconds(), ++recorded_;
    });
  }
  void ran(int steps, double seconds) { steps_ += steps, seconds_ += seconds; }

  nlohmann::ordered_json report() const {
    const MemoryReport now = memory();
    const ReplayReport replay = replay_report();
    BudgetResult result{.budget_bytes = now.budget_bytes, .memory = now, .seconds = seconds_, .replay = replay};
    result.replay.elapsed_seconds = seconds_;  // not while others had their turns
    if (now.tuned_step > before_.steps) result.memory.tuned_step -= before_.steps;
    if (trace_) result.floor_bytes = remat::floor_bytes(*trace_, true);
    if (trace_ && now.staging_bytes > 0) result.floor_bytes = remat::floor_with_disk(*trace_, now.staging_bytes);
    const std::size_t most = process_memory("VmHWM");
    nlohmann::ordered_json json = {{"steps", steps_},
                                   {"seconds", seconds_},
                                   {"process_bytes", most},
                                   {"extra_bytes", most - before_bytes_},
                                   {"peak_bytes", now.peak_bytes},
                                   {"working_set_bytes", now.operation_bytes},
                                   {"operator_seconds", operator_seconds_},  // of these, without recomputation
                                   {"recorded_steps", recorded_},
                                   {"decision_seconds", now.decision_seconds}};
    result.add_to(json);
    return json;
  }
  void write_trace() const {
    if (question_.trace.empty()) return;
    require(trace_.has_value(), "{}: no step was recorded; there must be two at least", question_.trace);
    remat::write_trace(*trace_, question_.trace);
  }

 private:
  const Question& question_;
  std::size_t before_bytes_;
  MemoryReport before_;
  std::optional<remat::Trace> trace_;  // this and what follows of recorded steps is the worker's until memory() has returned
  std::uint64_t number_ = 0;           // of the last one
  double operator_seconds_ = 0;
  int recorded_ = 0, steps_ = 0;
  double seconds_ = 0;
};

void take_turns(const Question& question) {
  Run({.spec = question.spec, .extent = question.spec->small, .batches = 1}).step().wait();
  regrow::sync();
  Account account(question);
  Run run(question);
  regrow::sync();
  std::ofstream("/proc/self/clear_refs") << "5";  // forgets the high-water mark so far: of reading the data
  std::cout << nlohmann::json{{"ready", true}} << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "report") {
      std::cout << account.report() << std::endl;
      continue;
    }
    const int steps = std::stoi(line);
    const std::uint64_t begin = now_ns();
    Tensor loss;
    for (int i = 0; i < steps; ++i) {
      account.step_begins();
      loss = run.step();
    }
    loss.wait();
    regrow::sync();
    const double seconds = static_cast<double>(now_ns() - begin) * 1e-9;
    account.ran(steps, seconds);
    std::cout << nlohmann::json{{"seconds", seconds}} << std::endl;
  }
  std::cout << account.report() << std::endl;
  account.write_trace();
}

int run_steps(int argc, char** argv) {
  CLI::App app("Training steps, for running beside another implementation");
  Question question;
  std::string name, size = "medium", file;
  int threads = 1;
  std::int64_t batch = 0;
  bool turns = false;
  app.add_option("model", name)->required();
  app.add_option("--size", size)->check(CLI::IsMember({"small", "medium", "large"}));
  app.add_option("--batch", batch, "Items a step, where it is not the size's")->check(CLI::PositiveNumber);
  app.add_option("--threads", threads)->check(CLI::Range(1, 1024));
  app.add_option("--batches", question.batches, "Different ones; with --export, steps")->check(CLI::Range(1, 1000));
  app.add_flag("--dropout", question.dropout);
  app.add_option("--export", file);
  app.add_flag("--turns", turns);
  app.add_option("--budget", question.budget_bytes)->transform(CLI::AsSizeValue(false));
  app.add_option("--spill", question.spill, "With --turns: let evictions go to a file in this directory");
  app.add_option("--trace", question.trace, "With --turns: record every other step, and write the last one to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    question.spec = find_model(name);
    require(question.spec != nullptr, "no model is named '{}'", name);
    const ModelSpec& spec = *question.spec;
    question.extent = size == "small" ? spec.small : size == "large" ? spec.large : spec.medium;
    if (batch > 0) question.extent.batch = batch;
    set_kernel_threads(threads);
    if (turns) {
      take_turns(question);
      return 0;
    }
    Run run(question);
    if (!file.empty()) export_start(run, question, file);
    print_losses(run);
    return 0;
  } catch (const std::exception& error) {
    if (turns) std::cout << nlohmann::json{{"error", error.what()}} << std::endl;
    else std::cerr << error.what() << "\n";
    return 1;
  }
}

}  // namespace
}  // namespace regrow::cli

int main(int argc, char** argv) { return regrow::cli::run_steps(argc, argv); }
