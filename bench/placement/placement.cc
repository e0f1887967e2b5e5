// SPDX-License-Identifier: Apache-2.0
// Placing and releasing: a pair is one place and one release.
#include "regrow/machine/placement.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <random>
#include <vector>

namespace regrow::machine {
namespace {

// The same size again and again, beside others that are live, as in a chain of operators: the new one before the old one goes.
void chain(benchmark::State& state) {
  Placement placement(std::size_t{1} << 36);
  std::vector<PageAction> actions;
  const auto bytes = static_cast<std::size_t>(state.range(0));
  std::mt19937 rng(1);
  std::vector<Place> others;
  for (int i = 0; i < 1000; ++i) others.push_back(placement.place(1 + rng() % (bytes * 2), actions));
  for (std::size_t i = 0; i < others.size(); i += 2) placement.release(others[i]);
  Place last = placement.place(bytes, actions);
  for (auto _ : state) {
    const Place next = placement.place(bytes, actions);
    placement.release(last);
    last = next;
    benchmark::DoNotOptimize(last);
  }
}
BENCHMARK(chain)->Arg(64)->Arg(4096)->Arg(24'000)->Arg(64 << 10)->Arg(1 << 20)->Arg(64 << 20);

// A size that nothing else has: a slab, or a run, is opened and closed for each.
void alone(benchmark::State& state) {
  Placement placement(std::size_t{1} << 36);
  std::vector<PageAction> actions;
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    const Place place = placement.place(bytes, actions);
    benchmark::DoNotOptimize(place);
    placement.release(place);
  }
}
BENCHMARK(alone)->Arg(64)->Arg(24'000)->Arg(1 << 20);

// Random sizes, random lifetimes, `live` of them; sizes up to 2^range(1).
void churn(benchmark::State& state) {
  Placement placement(std::size_t{1} << 36);
  std::vector<PageAction> actions;
  std::mt19937 rng(1);
  std::uniform_real_distribution<double> exponent(6, static_cast<double>(state.range(1)));
  std::vector<std::size_t> sizes(1 << 14), victims(1 << 14);
  std::vector<Place> live(static_cast<std::size_t>(state.range(0)));
  for (std::size_t& bytes : sizes) bytes = static_cast<std::size_t>(std::exp2(exponent(rng)));
  for (std::size_t& victim : victims) victim = rng() % live.size();
  std::size_t i = 0;
  for (Place& place : live) place = placement.place(sizes[i++ % sizes.size()], actions);
  for (auto _ : state) {
    Place& place = live[victims[i % victims.size()]];
    placement.release(place);
    actions.clear();
    place = placement.place(sizes[i * 7 % sizes.size()], actions);
    ++i;
  }
  state.counters["committed/charged"] = static_cast<double>(placement.committed()) / static_cast<double>(placement.charged());
}
BENCHMARK(churn)->Args({100, 15})->Args({10'000, 15})->Args({100, 24})->Args({10'000, 24});

// The decision alone of stitching a block of 64 MiB from every second of many small ones.
void stitch(benchmark::State& state) {
  const auto piece = static_cast<std::size_t>(state.range(0)) * granule;
  Placement placement(std::size_t{1} << 36);
  std::vector<PageAction> actions;
  const std::size_t block = std::size_t{64} << 20;
  std::size_t moves = 0;
  for (auto _ : state) {
    state.PauseTiming();
    std::vector<Place> live;
    placement.set_limit(block * 4);
    while (placement.fits(piece)) live.push_back(placement.place(piece, actions));
    for (std::size_t i = 0; i < live.size(); i += 2) placement.release(live[i]);
    actions.clear();
    state.ResumeTiming();
    const Place place = placement.place(block, actions);
    state.PauseTiming();
    moves += actions.size();
    placement.release(place);
    for (std::size_t i = 1; i < live.size(); i += 2) placement.release(live[i]);
    state.ResumeTiming();
  }
  state.counters["moves"] = static_cast<double>(moves) / static_cast<double>(state.iterations());
}
BENCHMARK(stitch)->Arg(1)->Arg(32)->Iterations(20);

}  // namespace
}  // namespace regrow::machine
