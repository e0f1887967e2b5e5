// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/create.h"
#include "regrow/ops/random.h"

namespace regrow::ops {
namespace {

template <class T>
void fill(const ComputeCall& call) {
  constexpr std::size_t words_each = sizeof(T) / sizeof(std::uint32_t);
  const auto mean = static_cast<T>(call.attrs.get<double>("mean")), spread = static_cast<T>(call.attrs.get<double>("stddev"));
  const View& out = call.out[0];
  random::for_tiles(out.count(), [&](std::uint64_t first, std::size_t n) {
    std::uint32_t words[random::tile * words_each];
    T values[random::tile];
    kernels::random_words(random::stream(call.random), first * words_each, (n + n % 2) * words_each, words);
    kernels::normal_of_words(words, n + n % 2, values);
    for (std::size_t i = 0; i < n; ++i) values[i] = mean + spread * values[i];
    random::store(values, out, first, n);
  });
}

void infer(const InferCall& call) {
  const double spread = call.attrs.get<double>("stddev");
  require(spread >= 0, "a standard deviation is at least 0, not {}", spread);
  create::named_shape(call);
}

void compute(const ComputeCall& call) { call.out[0].dtype() == DType::f64 ? fill<double>(call) : fill<float>(call); }

}  // namespace

OpDef normal() {
  OpDef def =
      random::distribution("Normally distributed random numbers (Philox 4x32-10, Box and Muller).",
                           {{.name = "mean", .type = AttrType::real, .fallback = 0.0, .doc = "The mean."},
                            {.name = "stddev", .type = AttrType::real, .fallback = 1.0, .doc = "The standard deviation."}},
                           infer, compute);
  def.samples.push_back({.inputs = {}, .attrs = {{"shape", Dims{2050}}, {"mean", 2.0}, {"stddev", 0.5}, {"dtype", DType::bf16}}});
  return def;
}

}  // namespace regrow::ops
