// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "regrow/ops/create.h"
#include "regrow/ops/random.h"

namespace regrow::ops {
namespace {

struct Range {
  double low, high, mean, spread;
};

Range range_of(const Attrs& attrs) {
  return {attrs.get<double>("low"), attrs.get<double>("high"), attrs.get<double>("mean"), attrs.get<double>("stddev")};
}

void infer(const InferCall& call) {
  const Range range = range_of(call.attrs);
  require(range.low < range.high, "low must be below high: {} and {}", range.low, range.high);
  require(range.spread >= 0, "a standard deviation is at least 0, not {}", range.spread);
  create::named_shape(call);
}

// The quantile of a uniform number between the probabilities of the ends: one number each, none thrown away. Above the mean the
// mirror image is drawn, whose probabilities are small and therefore exact.
template <class T>
void fill(const ComputeCall& call) {
  Range range = range_of(call.attrs);
  const double sign = range.low > 0 ? -1 : 1;
  if (sign < 0) range.low = -range.low, range.high = -range.high, std::swap(range.low, range.high);
  const double from = random::normal_below(range.low), width = random::normal_below(range.high) - from;
  const View& out = call.out[0];
  random::for_tiles(out.count(), [&](std::uint64_t first, std::size_t n) {
    std::uint32_t words[2 * random::tile];
    T values[random::tile];
    kernels::random_words(random::stream(call.random), 2 * first, 2 * n, words);
    for (std::size_t i = 0; i < n; ++i) {
      const double u = kernels::uniform_of_words(words + 2 * i) + 0x1p-54;
      const double z = std::clamp(random::normal_quantile(from + u * width), range.low, range.high);
      values[i] = static_cast<T>(range.mean + range.spread * sign * z);
    }
    random::store(values, out, first, n);
  });
}

void compute(const ComputeCall& call) { call.out[0].dtype() == DType::f64 ? fill<double>(call) : fill<float>(call); }

}  // namespace

OpDef truncated_normal() {
  OpDef def = random::distribution(
      "Random numbers of a normal distribution cut off at `low` and `high`, which count standard deviations from the mean "
      "(Philox "
      "4x32-10, inverse distribution).",
      {{.name = "mean", .type = AttrType::real, .fallback = 0.0, .doc = "The mean of the whole distribution."},
       {.name = "stddev", .type = AttrType::real, .fallback = 1.0, .doc = "Its standard deviation."},
       {.name = "low", .type = AttrType::real, .fallback = -2.0, .doc = "Where it begins."},
       {.name = "high", .type = AttrType::real, .fallback = 2.0, .doc = "Where it ends."}},
      infer, compute);
  def.samples.push_back({.inputs = {}, .attrs = {{"shape", Dims{2050}}, {"low", 1.0}, {"high", 3.0}, {"dtype", DType::f64}}});
  return def;
}

}  // namespace regrow::ops
