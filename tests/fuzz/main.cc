// SPDX-License-Identifier: Apache-2.0
// The differential fuzz test: draws random programs and demands the same bits and the same errors at every async level and
// lookahead as a run that waits after every operation. A failure prints the seed that reproduces it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
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

bool check(std::uint64_t seed, int variants, bool verbose) {
  std::mt19937_64 rng(seed);
  const Program program = generate(seed, 10 + static_cast<int>(rng() % 60));
  if (verbose) fmt::print("{}", to_string(program));
  std::vector<Outcome> expected;
  Settings settings = reference();
  try {
    expected = run(program, settings);
    for (int i = 0; i < variants; ++i) {
      settings = drawn(rng);
      const std::string found = difference(expected, run(program, settings));
      if (!found.empty()) throw std::logic_error(found);
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "seed {}: {}\n  with {}\n{}", seed, error.what(), to_string(settings), to_string(program));
    return false;
  }
  return true;
}

}  // namespace
}  // namespace regrow::fuzz

int main(int argc, char** argv) {
  CLI::App app("Random programs, the same bits and errors under every setting.");
  std::uint64_t seed = 1;
  int programs = 1000, variants = 2, most_failures = 5;
  bool verbose = false;
  app.add_option("--seed", seed, "of the first program; program k has seed + k");
  app.add_option("--programs", programs, "how many");
  app.add_option("--variants", variants, "settings that each is run under");
  app.add_option("--failures", most_failures, "stop after so many");
  app.add_flag("--verbose", verbose, "print the programs");
  CLI11_PARSE(app, argc, argv);

  regrow::fuzz::Watchdog watchdog(20);
  int failures = 0;
  for (int i = 0; i < programs && failures < most_failures; ++i) {
    watchdog.watch(seed + static_cast<std::uint64_t>(i));
    failures += !regrow::fuzz::check(seed + static_cast<std::uint64_t>(i), variants, verbose);
  }
  fmt::print("{} programs from seed {}, {} settings each: {} failures\n", programs, seed, variants, failures);
  return failures == 0 ? 0 : 1;
}
