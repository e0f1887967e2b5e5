// SPDX-License-Identifier: Apache-2.0
// The differential fuzz test: draws random programs and demands the same bits and the same errors at every async level, lookahead and
// memory budget as a run that waits after every operation and has all the memory it wants. What a budget refuses may be missing. A
// failure prints the seed that reproduces it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <thread>

#include "tests/fuzz/run.h"

namespace regrow::fuzz {
namespace {

Settings reference() {
  Settings settings;
  settings.options.async_level = 0;
  settings.options.lookahead = 0;
  settings.options.enable_host_compute = 0;
  settings.memory_by_hand = false;
  settings.read_all = true;
  return settings;
}

const OptionSpec& option(std::string_view name) {
  for (const OptionSpec& spec : option_specs())
    if (spec.name == name) return spec;
  throw std::logic_error("no such option");
}

Settings drawn(std::mt19937_64& rng) {
  constexpr std::size_t lookaheads[] = {0, 1, 2, 3, 8, 32, 99};
  Settings settings;
  settings.options.async_level = rng() % 5 == 0 ? rng() % 2 : 2;
  settings.options.lookahead = lookaheads[rng() % std::size(lookaheads)];
  settings.options.enable_host_compute = rng() % 2;
  settings.options.record_computing_path = rng() % 4 != 0;
  settings.options.enable_drop = settings.options.enable_swap = 1;
  settings.options.queue_commands = rng() % 3 == 0 ? 4 : 4096;
  settings.memory_by_hand = rng() % 4 != 0;
  settings.budgets = rng() % 2;
  settings.spills = rng() % 8 == 0;
  settings.options.enable_auto_evict = rng() % 4 != 0;
  settings.options.policy = rng() % option("policy").names.size();
  settings.options.eviction_threshold = rng() % 4 == 0 ? std::size_t{64} << 10 : 0;
  settings.options.evictee_minimum_size = rng() % 4 == 0 ? 1024 : 0;
  settings.options.verify = rng() % 8 == 0;
  return settings;
}

// Ends the process when one program takes longer than any may: a hang is a failure with a seed, too.
class Watchdog {
 public:
  explicit Watchdog(int seconds)
      : thread_([this, seconds] {
          std::uint64_t last = 0;
          for (int idle = 0; !done_; idle = last == seed_ ? idle + 1 : 0, last = seed_) {
            if (idle > seconds * 10) {
              std::fprintf(stderr, "seed %llu hangs\n", static_cast<unsigned long long>(seed_.load()));
              std::_Exit(1);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
          }
        }) {}
  ~Watchdog() { done_ = true, thread_.join(); }
  void watch(std::uint64_t seed) { seed_ = seed; }

 private:
  std::atomic<std::uint64_t> seed_ = 0;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

Program drawn_program(std::mt19937_64& rng, std::uint64_t seed) { return generate(seed, 10 + static_cast<int>(rng() % 60)); }

struct Count {
  int bounded = 0, refused = 0;  // runs with budgets, and those of them in which one refused something
  Work work;
  void add(const Settings& settings, const std::vector<Outcome>& outcomes) {
    bounded += settings.budgets;
    refused += std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.kind == Outcome::Kind::refused; });
  }
};

bool check(std::uint64_t seed, int variants, bool verbose, Count& count) {
  std::mt19937_64 rng(seed);
  const Program program = drawn_program(rng, seed);
  if (verbose) fmt::print("{}", to_string(program));
  std::vector<Outcome> expected;
  Settings settings = reference();
  try {
    expected = run(program, settings, count.work);
    for (int i = 0; i < variants; ++i) {
      settings = drawn(rng);
      const std::vector<Outcome> seen = run(program, settings, count.work);
      count.add(settings, seen);
      const std::string found = difference(expected, seen);
      if (!found.empty()) throw std::logic_error(found);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "seed {}: {}\n  with {}\n{}", seed, error.what(), to_string(settings), to_string(program));
    return false;
  }
  return true;
}

// Operators with samples that none of these programs applies: their number, each with a line on stderr.
int never_drawn(std::uint64_t seed, int programs) {
  std::set<std::string_view> missing;
  for (const OpRecord& record : all_ops())
    if (!record.samples.empty()) missing.insert(record.name);
  for (int i = 0; i < programs && !missing.empty(); ++i) {
    std::mt19937_64 rng(seed + static_cast<std::uint64_t>(i));
    for (const Step& step : drawn_program(rng, seed + static_cast<std::uint64_t>(i)).steps)
      if (step.kind == StepKind::apply) missing.erase(step.op);
  }
  for (std::string_view name : missing) fmt::print(stderr, "no program applies {}\n", name);
  return static_cast<int>(missing.size());
}

}  // namespace
}  // namespace regrow::fuzz

int main(int argc, char** argv) {
  CLI::App app("Random programs, the same bits and errors under every setting.");
  std::uint64_t seed = 1;
  int programs = 1000, variants = 2, most_failures = 5;
  bool verbose = false, operators = false;
  app.add_option("--seed", seed, "of the first program; program k has seed + k");
  app.add_option("--programs", programs, "how many");
  app.add_option("--variants", variants, "settings that each is run under");
  app.add_option("--failures", most_failures, "stop after so many");
  app.add_flag("--verbose", verbose, "print the programs");
  app.add_flag("--operators", operators, "only look whether the programs apply every operator that has samples");
  CLI11_PARSE(app, argc, argv);

  if (operators) return regrow::fuzz::never_drawn(seed, programs) == 0 ? 0 : 1;
  regrow::fuzz::Watchdog watchdog(20);
  regrow::fuzz::Count count;
  int failures = 0;
  for (int i = 0; i < programs && failures < most_failures; ++i) {
    watchdog.watch(seed + static_cast<std::uint64_t>(i));
    failures += !regrow::fuzz::check(seed + static_cast<std::uint64_t>(i), variants, verbose, count);
  }
  fmt::print("{} programs from seed {}, {} settings each: {} failures\n", programs, seed, variants, failures);
  fmt::print("{} runs with budgets, {} met a refusal; {} evictions, {} operations computed again, {} bytes spilled\n", count.bounded,
             count.refused, count.work.evictions, count.work.recomputed, count.work.spilled_bytes);
  return failures == 0 ? 0 : 1;
}
