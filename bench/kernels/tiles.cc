// SPDX-License-Identifier: Apache-2.0
// The tile driver: what a call costs, what an element costs, fused and not, with one kernel thread.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "regrow/kernels/elementwise.h"
#include "regrow/kernels/parallel.h"
#include "regrow/kernels/tile.h"
#include "regrow/tensor/half.h"

namespace regrow::kernels {
namespace {

struct Buffer {
  Desc desc;
  std::vector<std::byte> bytes;

  Buffer(DType dtype, const Shape& shape) : desc(Desc::dense(dtype, shape)), bytes(desc.bytes()) {
    for (std::int64_t i = 0; i < desc.count(); ++i)
      write_scalar(Scalar(is_floating(dtype) ? 0.001 * static_cast<double>(i % 1999 - 999) : static_cast<double>(i % 100)), dtype,
                   bytes.data() + static_cast<std::size_t>(i) * size_of(dtype));
  }
  View view() { return {&desc, bytes.data()}; }
};

// relu(x a + b) + x 0.5
TileProgram chain(DType type) {
  const TileKernel multiply = binary(Binary::multiply, type), sum = binary(Binary::add, type), relu = unary(Unary::relu, type);
  return {4,
          {{multiply, type, 2, {0, 1}},
           {sum, type, 2, {4, 2}},
           {relu, type, 1, {5}},
           {multiply, type, 2, {0, 3}},
           {sum, type, 2, {6, 7}}},
          {8}};
}

void fused_chain(benchmark::State& state, DType type, Shape a_shape) {
  set_kernel_threads(static_cast<int>(state.range(1)));
  const Shape shape{state.range(0) / 1024, 1024};
  Buffer x(type, shape), a(type, a_shape), b(type, a_shape), half(type, {}), out(type, shape);
  const std::vector<View> in{x.view(), a.view(), b.view(), half.view()};
  const View to = out.view();
  const TileProgram program = chain(type);
  for (auto _ : state) run_tiles(program, in, {&to, 1});
  state.SetItemsProcessed(state.iterations() * out.desc.count());
}

void unfused_chain(benchmark::State& state) {
  set_kernel_threads(1);
  const Shape shape{state.range(0)};
  Buffer x(DType::f32, shape), one(DType::f32, {}), t(DType::f32, shape), u(DType::f32, shape);
  const TileKernel multiply = binary(Binary::multiply, DType::f32), sum = binary(Binary::add, DType::f32),
                   relu = unary(Unary::relu, DType::f32);
  for (auto _ : state) {
    run_tile(multiply, std::vector{x.view(), one.view()}, t.view());
    run_tile(sum, std::vector{t.view(), one.view()}, t.view());
    run_tile(relu, std::vector{t.view()}, t.view());
    run_tile(multiply, std::vector{x.view(), one.view()}, u.view());
    run_tile(sum, std::vector{t.view(), u.view()}, t.view());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

// One add, its kernel looked up each time as an operator does.
void add(benchmark::State& state, DType type, bool broadcast) {
  set_kernel_threads(1);
  const Shape shape{state.range(0)};
  Buffer a(type, shape), b(type, broadcast ? Shape{} : shape), out(type, shape);
  const View in[] = {a.view(), b.view()};
  const View to = out.view();
  for (auto _ : state) run_tile(binary(Binary::add, type), in, to);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void add_bias(benchmark::State& state) {
  set_kernel_threads(1);
  const std::int64_t n = state.range(0);
  Buffer a(DType::f32, {n, n}), b(DType::f32, {n}), out(DType::f32, {n, n});
  const View in[] = {a.view(), b.view()};
  const View to = out.view();
  for (auto _ : state) run_tile(binary(Binary::add, DType::f32), in, to);
  state.SetItemsProcessed(state.iterations() * n * n);
}

void add_outer(benchmark::State& state) {
  set_kernel_threads(1);
  const std::int64_t n = state.range(0);
  Buffer a(DType::f32, {n, 1}), b(DType::f32, {1, n}), out(DType::f32, {n, n});
  const View in[] = {a.view(), b.view()};
  const View to = out.view();
  for (auto _ : state) run_tile(binary(Binary::add, DType::f32), in, to);
  state.SetItemsProcessed(state.iterations() * n * n);
}

void add_transposed(benchmark::State& state) {
  set_kernel_threads(1);
  const std::int64_t n = state.range(0);
  Buffer a(DType::f32, {n, n}), b(DType::f32, {n, n}), out(DType::f32, {n, n});
  a.desc.strides = {1, n};
  const View in[] = {a.view(), b.view()};
  const View to = out.view();
  for (auto _ : state) run_tile(binary(Binary::add, DType::f32), in, to);
  state.SetItemsProcessed(state.iterations() * n * n);
}

void function(benchmark::State& state, Unary f, DType type) {
  set_kernel_threads(1);
  Buffer x(type, {state.range(0)}), out(type, {state.range(0)});
  const View in = x.view(), to = out.view();
  for (auto _ : state) run_tile(unary(f, type), {&in, 1}, to);
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

BENCHMARK_CAPTURE(fused_chain, f32, DType::f32, Shape{})
    ->ArgNames({"n", "threads"})
    ->Args({1 << 20, 1})
    ->Args({1 << 20, 2})
    ->UseRealTime();
BENCHMARK_CAPTURE(fused_chain, f32_rows, DType::f32, Shape{1024})->ArgNames({"n", "threads"})->Args({1 << 20, 1})->UseRealTime();
BENCHMARK_CAPTURE(fused_chain, bf16, DType::bf16, Shape{})->ArgNames({"n", "threads"})->Args({1 << 20, 1})->UseRealTime();
BENCHMARK(unfused_chain)->Arg(1 << 20);
BENCHMARK_CAPTURE(add, f32, DType::f32, false)->Arg(1)->Arg(16)->Arg(64)->Arg(1024)->Arg(1 << 16)->Arg(1 << 20);
BENCHMARK_CAPTURE(add, f32_single, DType::f32, true)->Arg(1)->Arg(64)->Arg(1 << 16);
BENCHMARK_CAPTURE(add, bf16, DType::bf16, false)->Arg(1)->Arg(64)->Arg(1 << 16);
BENCHMARK_CAPTURE(add, i32, DType::i32, false)->Arg(1)->Arg(1 << 16);
BENCHMARK(add_bias)->Arg(8)->Arg(64)->Arg(1000);
BENCHMARK(add_outer)->Arg(4)->Arg(64)->Arg(1024);
BENCHMARK(add_transposed)->Arg(4)->Arg(64)->Arg(1024);
BENCHMARK_CAPTURE(function, exp, Unary::exp, DType::f32)->Arg(1 << 16);
BENCHMARK_CAPTURE(function, log, Unary::log, DType::f32)->Arg(1 << 16);
BENCHMARK_CAPTURE(function, tanh, Unary::tanh, DType::f32)->Arg(1 << 16);
BENCHMARK_CAPTURE(function, sigmoid, Unary::sigmoid, DType::f32)->Arg(1 << 16);
BENCHMARK_CAPTURE(function, sin, Unary::sin, DType::f32)->Arg(1 << 16);
BENCHMARK_CAPTURE(function, erf, Unary::erf, DType::f32)->Arg(1 << 16);
BENCHMARK_CAPTURE(function, exp_f64, Unary::exp, DType::f64)->Arg(1 << 16);

}  // namespace
}  // namespace regrow::kernels
