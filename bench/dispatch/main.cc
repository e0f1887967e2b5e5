// SPDX-License-Identifier: Apache-2.0
// What an operation costs beside its arithmetic: small operators one by one, with and without gradients, and one fused chain.
// Contenders run interleaved in one process, each round in another order; prints medians and ratios as JSON.
#include <regrow/regrow.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "bench/dispatch/contender.h"
#include "regrow/base/clock.h"

namespace bench {
namespace {

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

// What issuing costs the caller alone: short bursts that the queue takes whole, the waiting left out.
double issue_ns() {
  namespace rg = regrow;
  rg::NoGrad guard;
  rg::Tensor y = rg::full({1}, 1e-6f), z = rg::zeros({1});
  z.wait();
  constexpr int burst = 1000;
  const std::uint64_t start = regrow::now_ns();
  for (int i = 0; i < burst; ++i) z = z + y;
  const std::uint64_t end = regrow::now_ns();
  z.wait();
  return static_cast<double>(end - start) / burst;
}

void idle(std::uint64_t ns) {
  const std::uint64_t until = regrow::now_ns() + ns;
  while (regrow::now_ns() < until) {
  }
}

// From issuing one command on a channel that has been idle, nothing flushed, to its beginning on the worker (seen by a callback).
double lone_start_us(std::uint64_t idle_ns) {
  namespace rg = regrow;
  rg::sync();
  idle(idle_ns);
  std::atomic<std::uint64_t> began = 0;
  rg::Op probe = rg::callback_op("probe", [&began](std::span<const rg::HostArray>) {
    began = regrow::now_ns();
    return std::vector<rg::HostArray>{};
  }, {.outputs = std::vector<rg::CallbackOutput>{}});
  const std::uint64_t issued = regrow::now_ns();
  rg::apply(probe, {});
  while (began.load() == 0) {
  }
  return static_cast<double>(began - issued) / 1000;
}

// What the system takes to wake a thread: the floor of a start after a long sleep.
double wake_us() {
  std::atomic<int> bell = 0;
  std::atomic<std::uint64_t> awake = 0;
  std::thread sleeper([&] {
    bell.wait(0);
    awake = regrow::now_ns();
  });
  idle(2'000'000);
  const std::uint64_t rung = regrow::now_ns();
  bell = 1;
  bell.notify_one();
  sleeper.join();
  return static_cast<double>(awake - rung) / 1000;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  CLI::App app("Cost of an operation: regrow and libtorch side by side.");
  int rounds = 11, threads = 1;
  std::string only;
  bool alone = false;
  app.add_option("--rounds", rounds, "interleaved rounds");
  app.add_option("--threads", threads, "kernel threads of both");
  app.add_option("--only", only, "cases whose name contains this");
  app.add_flag("--alone", alone, "regrow without its peers, for profiling");
  CLI11_PARSE(app, argc, argv);

  std::vector<bench::Contender> contenders = {bench::regrow_contender(threads)};
#ifdef BENCH_WITH_LIBTORCH
  if (!alone) contenders.push_back(bench::libtorch_contender(threads));
#endif
  std::map<std::string, std::map<std::string, std::vector<double>>> times;  // case, contender
  std::mt19937 rng(1);
  std::vector<double> issue, lone, late, wake;
  for (int round = 0; round <= rounds; ++round)
    for (std::size_t c = 0; c < contenders[0].cases.size(); ++c) {
      if (contenders[0].cases[c].name.find(only) == std::string::npos) continue;
      std::vector<std::size_t> order(contenders.size());
      for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), rng);
      for (std::size_t i : order) {
        const bench::Case& test = contenders[i].cases[c];
        const std::uint64_t start = regrow::now_ns();
        test.run();
        const double ns = static_cast<double>(regrow::now_ns() - start) / test.operations;
        if (round > 0) times[test.name][contenders[i].name].push_back(ns);  // the first round warms up
      }
    }
  for (int i = 0; i < rounds * 5; ++i) {
    issue.push_back(bench::issue_ns());
    lone.push_back(bench::lone_start_us(300'000));
    late.push_back(bench::lone_start_us(2'000'000));
    wake.push_back(bench::wake_us());
  }

  nlohmann::json report;
  report["threads"] = threads;
  report["rounds"] = rounds;
  for (const bench::Contender& contender : contenders) report["versions"][contender.name] = contender.version;
  report["issue_ns"] = bench::median(issue);
  report["lone_command_start_us"] = bench::median(lone);             // after 0.3 ms without work
  report["lone_command_start_after_sleep_us"] = bench::median(late);  // after 2 ms
  report["thread_wake_us"] = bench::median(wake);
  for (const auto& [name, by_contender] : times) {
    nlohmann::json row = {{"case", name}};
    for (const auto& [contender, samples] : by_contender) row[contender + "_ns_per_operation"] = bench::median(samples);
    if (by_contender.size() == 2) row["ratio"] = bench::median(by_contender.at("libtorch")) / bench::median(by_contender.at("regrow"));
    report["cases"].push_back(row);
  }
  std::printf("%s\n", report.dump(2).c_str());
}
