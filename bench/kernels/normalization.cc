// SPDX-License-Identifier: Apache-2.0
// Normalization, pooling and resampling of channels-last activations: bytes of operands a second, beside a copy of as many.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "regrow/kernels/interpolation.h"
#include "regrow/kernels/normalization.h"
#include "regrow/kernels/parallel.h"
#include "regrow/kernels/pooling.h"
#include "regrow/kernels/row_norm.h"

namespace regrow::kernels {
namespace {

struct Buffer {
  Desc desc;
  std::vector<float> data;
  explicit Buffer(const Shape& shape) : desc(Desc::dense(DType::f32, shape)), data(static_cast<std::size_t>(desc.count())) {
    if (shape.size() == 4) desc.strides = channels_last_strides(shape);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = 0.001f * static_cast<float>(i % 1999) - 1;
  }
  View view() { return {&desc, reinterpret_cast<std::byte*>(data.data())}; }
};
struct Table {
  Desc desc;
  std::vector<double> data;
  explicit Table(std::int64_t n) : desc(Desc::dense(DType::f64, {n})), data(static_cast<std::size_t>(n), 1.0) {}
  View view() { return {&desc, reinterpret_cast<std::byte*>(data.data())}; }
};

struct Space {
  std::vector<std::byte> bytes;
  explicit Space(std::size_t size) : bytes(size + 64) {}
  std::span<std::byte> span() {
    std::byte* aligned = bytes.data() + (64 - reinterpret_cast<std::uintptr_t>(bytes.data()) % 64) % 64;
    return {aligned, bytes.size() - 64};
  }
};

// `passes`: how many operands as large as x are read or written at least.
void count(benchmark::State& state, const Buffer& x, int passes) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(x.desc.bytes()) * passes);
}

Shape image(const benchmark::State& state) { return {state.range(0), state.range(1), state.range(2), state.range(2)}; }

void copy(benchmark::State& state) {
  Buffer x(image(state)), out(x.desc.shape);
  for (auto _ : state) std::memcpy(out.data.data(), x.data.data(), x.desc.bytes()), benchmark::ClobberMemory();
  count(state, x, 2);
}

void batch_norm_forward(benchmark::State& state) {
  Buffer x(image(state)), out(x.desc.shape);
  Table weight(state.range(1)), bias(state.range(1)), mean(state.range(1)), variance(state.range(1));
  Space space(batch_norm_workspace(x.desc, out.desc));
  for (auto _ : state)
    batch_norm(x.view(), weight.view(), bias.view(), 1e-5, out.view(), mean.view(), variance.view(), space.span());
  count(state, x, 3);
}

void batch_norm_backward(benchmark::State& state) {
  Buffer x(image(state)), grad(x.desc.shape), out(x.desc.shape);
  Table weight(state.range(1)), dw(state.range(1)), db(state.range(1)), mean(state.range(1)), variance(state.range(1));
  Space space(batch_norm_back_workspace(grad.desc, x.desc, out.desc));
  for (auto _ : state)
    batch_norm_back(grad.view(), x.view(), weight.view(), mean.view(), variance.view(), 1e-5, out.view(), dw.view(), db.view(),
                    space.span());
  count(state, x, 5);
}

void group_norm_forward(benchmark::State& state) {
  Buffer x(image(state)), out(x.desc.shape);
  Table weight(state.range(1)), bias(state.range(1));
  Space space(group_norm_workspace(x.desc, out.desc));
  for (auto _ : state) group_norm(x.view(), weight.view(), bias.view(), 8, 1e-5, out.view(), space.span());
  count(state, x, 3);
}

void layer_norm_forward(benchmark::State& state) {
  Buffer x({state.range(0), state.range(1)}), out(x.desc.shape);
  Table weight(state.range(1)), bias(state.range(1));
  Space space(row_norm_workspace(x.desc, weight.desc, out.desc));
  const View b = bias.view();
  for (auto _ : state) row_norm({.epsilon = 1e-5}, x.view(), weight.view(), &b, out.view(), space.span());
  count(state, x, 2);
}

void layer_norm_backward(benchmark::State& state) {
  Buffer x({state.range(0), state.range(1)}), grad(x.desc.shape), out(x.desc.shape);
  Table weight(state.range(1)), dw(state.range(1)), db(state.range(1));
  Space space(row_norm_back_workspace(grad.desc, x.desc, weight.desc, out.desc));
  const View b = db.view();
  for (auto _ : state)
    row_norm_back({.epsilon = 1e-5}, grad.view(), x.view(), weight.view(), out.view(), dw.view(), &b, space.span());
  count(state, x, 3);
}

Pooling halves(const benchmark::State& state) {
  const std::int64_t size = state.range(2);
  return {.batch = state.range(0),
          .channels = state.range(1),
          .in = {size, size},
          .window = {2, 2},
          .out = {size / 2, size / 2},
          .stride = {2, 2}};
}

void max_pool_forward(benchmark::State& state) {
  Buffer x(image(state)), out({state.range(0), state.range(1), state.range(2) / 2, state.range(2) / 2});
  for (auto _ : state) max_pool(halves(state), x.view(), x.view(), out.view());
  count(state, x, 1);
}

void max_pool_backward(benchmark::State& state) {
  Buffer x(image(state)), out(x.desc.shape), grad({state.range(0), state.range(1), state.range(2) / 2, state.range(2) / 2});
  for (auto _ : state) max_pool_back(halves(state), grad.view(), x.view(), out.view(), {});
  count(state, x, 2);
}

void mean_pool_forward(benchmark::State& state) {
  Buffer x(image(state)), out({state.range(0), state.range(1), state.range(2) / 2, state.range(2) / 2});
  for (auto _ : state) mean_pool(halves(state), x.view(), out.view());
  count(state, x, 1);
}

void nearest_doubles(benchmark::State& state) {
  Buffer x(image(state)), out({state.range(0), state.range(1), state.range(2) * 2, state.range(2) * 2});
  Space space(interpolate_workspace(x.desc, out.desc));
  for (auto _ : state) interpolate({}, x.view(), out.view(), space.span());
  count(state, out, 1);
}

void nearest_back(benchmark::State& state) {
  Buffer x(image(state)), grad({state.range(0), state.range(1), state.range(2) * 2, state.range(2) * 2});
  Space space(interpolate_back_workspace(grad.desc, x.desc));
  for (auto _ : state) interpolate_back({}, grad.view(), x.view(), space.span());
  count(state, grad, 1);
}

void sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"n", "c", "hw"})->Args({64, 16, 32})->Args({64, 64, 8})->Args({64, 64, 64});
}
void row_sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"rows", "length"})->Args({4096, 128})->Args({4096, 768})->Args({16384, 1024});
}

BENCHMARK(copy)->Apply(sizes);
BENCHMARK(batch_norm_forward)->Apply(sizes);
BENCHMARK(batch_norm_backward)->Apply(sizes);
BENCHMARK(group_norm_forward)->Apply(sizes);
BENCHMARK(layer_norm_forward)->Apply(row_sizes);
BENCHMARK(layer_norm_backward)->Apply(row_sizes);
BENCHMARK(max_pool_forward)->Apply(sizes);
BENCHMARK(max_pool_backward)->Apply(sizes);
BENCHMARK(mean_pool_forward)->Apply(sizes);
BENCHMARK(nearest_doubles)->Apply(sizes);
BENCHMARK(nearest_back)->Apply(sizes);

}  // namespace
}  // namespace regrow::kernels

int main(int argc, char** argv) {
  regrow::kernels::set_kernel_threads(1);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
