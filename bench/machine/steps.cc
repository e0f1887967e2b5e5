// SPDX-License-Identifier: Apache-2.0
// Commands a second through the machine alone, actions taken and answered by a shell that does nothing.
#include <benchmark/benchmark.h>

#include <array>

#include "regrow/machine/machine.h"

namespace {

using namespace regrow::machine;

void drain(Machine& machine) {
  while (const Action* action = machine.next()) {
    benchmark::DoNotOptimize(action->kind);
    machine.done();
  }
}

// out = f(a, b), and one input dies: the usual elementwise operation. With 64 bytes and with a mebibyte.
void apply_binary(benchmark::State& state, bool reuse, bool budget) {
  Machine machine;
  const auto bytes = static_cast<std::size_t>(state.range(0));
  machine.put(0, 0, bytes), drain(machine);
  machine.put(1, 0, bytes), drain(machine);
  if (budget) machine.set_budget(0, std::size_t{1} << 30), drain(machine);
  Payload payload = 0;
  Slot alive = 1;
  for (auto _ : state) {
    const Slot next = alive == 1 ? 2 : 1;
    const std::array<Slot, 2> inputs = {0, alive};
    const std::array<OutputSpec, 1> outputs = {OutputSpec{.slot = next, .bytes = bytes, .reuse = reuse ? 2u : 0u}};
    const std::array<Slot, 1> deletes = {alive};
    machine.apply({.payload = payload++, .inputs = inputs, .outputs = outputs, .deletes = deletes});
    drain(machine);
    alive = next;
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(apply_binary, fresh, false, false)->Arg(64)->Arg(1 << 20);
BENCHMARK_CAPTURE(apply_binary, in_place, true, false)->Arg(64)->Arg(1 << 20);
BENCHMARK_CAPTURE(apply_binary, budget, false, true)->Arg(64)->Arg(1 << 20);

// Recorded: out = f(weight, x) with both alive, then the oldest of 64 outputs dies by a command of its own.
void apply_recorded(benchmark::State& state) {
  Machine machine;
  machine.put(0, 0, 4096), drain(machine);
  machine.put(1, 0, 4096), drain(machine);
  constexpr Slot window = 64;
  Payload payload = 0;
  for (auto _ : state) {
    const Slot slot = 2 + payload % window;
    if (machine.has(slot)) machine.del(slot), drain(machine);
    const std::array<Slot, 2> inputs = {0, payload % window > 0 ? slot - 1 : 1};
    const std::array<OutputSpec, 1> outputs = {OutputSpec{.slot = slot, .bytes = 4096}};
    machine.apply({.payload = payload++, .inputs = inputs, .outputs = outputs});
    drain(machine);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(apply_recorded);

// A chain of operations dropped whole and fetched at its end: time of an operation recomputed.
void regrow_chain(benchmark::State& state) {
  Machine machine;
  machine.put(0, 0, 4096), drain(machine);
  const Slot length = static_cast<Slot>(state.range(0));
  for (Slot slot = 1; slot <= length; ++slot) {
    const std::array<Slot, 1> inputs = {slot - 1};
    const std::array<OutputSpec, 1> outputs = {OutputSpec{.slot = slot, .bytes = 4096}};
    machine.apply({.payload = slot, .inputs = inputs, .outputs = outputs});
    drain(machine);
  }
  for (auto _ : state) {
    for (Slot slot = 1; slot <= length; ++slot) machine.drop(slot), drain(machine);
    machine.fetch(length), drain(machine);
  }
  state.SetItemsProcessed(state.iterations() * length);
}
BENCHMARK(regrow_chain)->Arg(10'000);

}  // namespace
