// SPDX-License-Identifier: Apache-2.0
// Training steps of a model of `regrow train`, for running beside another implementation: without dropout, at one learning rate.
//
// With --export it writes what the other side begins with, initial values and batches, as a safetensors file, and prints the
// losses of as many steps. With --turns it does what standard input says: "N" on a line runs N steps and prints how long they
// took; at the end of the input it prints how much memory was needed beyond that of a first step at a small size.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "regrow/base/clock.h"
#include "regrow/cli/models/model.h"

namespace regrow::cli {
namespace {

class Run {
 public:
  Run(const ModelSpec& spec, const Extent& extent, int batches) {
    seed(1);
    model_ = spec.make({.extent = extent, .seed = 1, .data = {}, .dropout = false});
    optimizer_ = spec.optimizer(model_.module.parameters(), spec.learning_rate);
    for (int i = 0; i < batches; ++i) batches_.push_back(model_.batch(i));
    model_.batch = {}, model_.measure = {};  // and with them the data set
  }
  const Model& model() const { return model_; }
  const std::vector<Batch>& batches() const { return batches_; }

  Tensor step() {
    const Tensor loss = model_.loss(batches_[next_++ % batches_.size()]);
    optimizer_->zero_grad();
    loss.backward();
    optimizer_->step();
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

void export_start(const Run& run, const ModelSpec& spec, const Extent& extent, const std::string& path) {
  io::NamedTensors arrays;
  for (const auto& [name, value] : run.model().module.state_dict()) arrays.emplace_back("initial." + name, value);
  for (std::size_t i = 0; i < run.batches().size(); ++i) {
    for (std::size_t k = 0; k < run.batches()[i].size(); ++k)
      arrays.emplace_back(fmt::format("batch.{}.{}", i, k), tensor(run.batches()[i][k]));
  }
  io::save_safetensors(path, arrays,
                       {{"model", std::string(spec.name)},
                        {"width", std::to_string(extent.width)},
                        {"depth", std::to_string(extent.depth)},
                        {"batch", std::to_string(extent.batch)},
                        {"length", std::to_string(extent.length)},
                        {"vocabulary", std::to_string(run.model().vocabulary.size())},
                        {"learning_rate", fmt::format("{}", spec.learning_rate)}});
}

void print_losses(Run& run) {
  std::vector<Tensor> losses;
  for (std::size_t i = 0; i < run.batches().size(); ++i) losses.push_back(run.step());
  nlohmann::json values;
  for (const Tensor& loss : losses) values.push_back(loss.item<float>());
  std::cout << nlohmann::json{{"losses", values}} << std::endl;
}

void take_turns(const ModelSpec& spec, const Extent& extent, int batches) {
  Run(spec, spec.small, 1).step().wait();
  regrow::sync();
  const std::size_t before = process_memory("VmRSS");
  Run run(spec, extent, batches);
  regrow::sync();
  std::ofstream("/proc/self/clear_refs") << "5";  // forgets the high-water mark so far: of reading the data
  std::cout << nlohmann::json{{"ready", true}} << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const std::uint64_t begin = now_ns();
    Tensor loss;
    for (int left = std::stoi(line); left > 0; --left) loss = run.step();
    loss.wait();
    regrow::sync();
    std::cout << nlohmann::json{{"seconds", static_cast<double>(now_ns() - begin) * 1e-9}} << std::endl;
  }
  const MemoryReport report = memory();
  std::cout << nlohmann::json{{"extra_bytes", process_memory("VmHWM") - before},
                              {"peak_bytes", report.peak_bytes},
                              {"working_set_bytes", report.operation_bytes}}
            << std::endl;
}

int run_steps(int argc, char** argv) {
  CLI::App app("Training steps, for running beside another implementation");
  std::string name, size = "medium", file;
  int threads = 1, batches = 20;
  bool turns = false;
  app.add_option("model", name)->required();
  app.add_option("--size", size)->check(CLI::IsMember({"small", "medium", "large"}));
  app.add_option("--threads", threads)->check(CLI::Range(1, 1024));
  app.add_option("--batches", batches, "Different ones; with --export, steps")->check(CLI::Range(1, 1000));
  app.add_option("--export", file);
  app.add_flag("--turns", turns);
  CLI11_PARSE(app, argc, argv);
  try {
    const ModelSpec* spec = find_model(name);
    require(spec != nullptr, "no model is named '{}'", name);
    const Extent& extent = size == "small" ? spec->small : size == "large" ? spec->large : spec->medium;
    set_kernel_threads(threads);
    if (turns) {
      take_turns(*spec, extent, batches);
      return 0;
    }
    Run run(*spec, extent, batches);
    if (!file.empty()) export_start(run, *spec, extent, file);
    print_losses(run);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}

}  // namespace
}  // namespace regrow::cli

int main(int argc, char** argv) { return regrow::cli::run_steps(argc, argv); }
