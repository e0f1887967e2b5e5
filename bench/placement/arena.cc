// SPDX-License-Identifier: Apache-2.0
// What the page actions cost.
#include "regrow/memory/arena.h"

#include <benchmark/benchmark.h>

#include <cstring>
#include <utility>

namespace regrow::memory {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

// New pages, written once: what recycling avoids.
void commit_and_touch(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  Arena arena(64 * mib);
  for (auto _ : state) {
    arena.commit(0, bytes);
    std::memset(arena.at(0), 1, bytes);
    state.PauseTiming();
    arena.decommit(0, bytes);
    state.ResumeTiming();
  }
}
BENCHMARK(commit_and_touch)->Arg(64 << 10)->Arg(2 << 20)->Unit(benchmark::kMicrosecond);

void touch_again(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  Arena arena(64 * mib);
  arena.commit(0, bytes);
  for (auto _ : state) std::memset(arena.at(0), 1, bytes);
}
BENCHMARK(touch_again)->Arg(64 << 10)->Arg(2 << 20)->Unit(benchmark::kMicrosecond);

// There and back.
void move(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  Arena arena(64 * mib);
  arena.commit(0, bytes);
  std::memset(arena.at(0), 1, bytes);
  std::uint64_t from = 0, to = 32 * mib;
  for (auto _ : state) {
    arena.move(from, to, bytes);
    std::swap(from, to);
  }
}
BENCHMARK(move)->Arg(64 << 10)->Arg(2 << 20)->Arg(16 << 20)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace regrow::memory
