// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "regrow/kernels/rounding.h"
#include "regrow/ops/create.h"
#include "regrow/ops/random.h"

namespace regrow::ops {
namespace {

// Bits of a uniform number that a type holds exactly.
int precision(DType type) {
  switch (type) {
    case DType::bf16: return 8;
    case DType::f16: return 11;
    default: return 24;
  }
}

// The largest 16-bit value below `high`: bits count away from zero.
template <class Small>
float small_below(double high) {
  Small near = kernels::narrow<Small>(high);
  if (static_cast<double>(static_cast<float>(near)) >= high) {
    if ((near.bits & 0x7fff) == 0)
      near.bits = 0x8001;
    else
      near.bits = static_cast<std::uint16_t>(near.bits + ((near.bits & 0x8000) != 0 ? 1 : -1));
  }
  return static_cast<float>(near);
}

// Sums that round up to `high` are brought back to this.
float last_below(double high, DType type) {
  if (type == DType::f16) return small_below<Half>(high);
  if (type == DType::bf16) return small_below<BFloat16>(high);
  const auto near = static_cast<float>(high);
  return static_cast<double>(near) < high ? near : std::nextafter(near, -INFINITY);
}

void fill_single(const ComputeCall& call, double low, double high) {
  const View& out = call.out[0];
  const int bits = precision(out.dtype());
  const float last = last_below(high, out.dtype());
  random::for_tiles(out.count(), [&](std::uint64_t first, std::size_t n) {
    std::uint32_t words[random::tile];
    float values[random::tile];
    kernels::random_words(random::stream(call.random), first, n, words);
    for (std::size_t i = 0; i < n; ++i) {
      const auto value = static_cast<float>(low + static_cast<double>(kernels::uniform_of_word(words[i], bits)) * (high - low));
      values[i] = value < last ? value : last;
    }
    random::store(values, out, first, n);
  });
}

void fill_double(const ComputeCall& call, double low, double high) {
  const View& out = call.out[0];
  const double last = std::nextafter(high, -INFINITY);
  random::for_tiles(out.count(), [&](std::uint64_t first, std::size_t n) {
    std::uint32_t words[2 * random::tile];
    kernels::random_words(random::stream(call.random), 2 * first, 2 * n, words);
    double* to = out.as<double>() + first;
    for (std::size_t i = 0; i < n; ++i) to[i] = std::min(low + kernels::uniform_of_words(words + 2 * i) * (high - low), last);
  });
}

void infer(const InferCall& call) {
  const double low = call.attrs.get<double>("low"), high = call.attrs.get<double>("high");
  require(low < high && std::isfinite(high - low), "low must be below high, and both finite: {} and {}", low, high);
  create::named_shape(call);
}

void compute(const ComputeCall& call) {
  const double low = call.attrs.get<double>("low"), high = call.attrs.get<double>("high");
  call.out[0].dtype() == DType::f64 ? fill_double(call, low, high) : fill_single(call, low, high);
}

}  // namespace

OpDef uniform() {
  OpDef def =
      random::distribution("Random numbers uniform in [low, high) (Philox 4x32-10).",
                           {{.name = "low", .type = AttrType::real, .fallback = 0.0, .doc = "The least number."},
                            {.name = "high", .type = AttrType::real, .fallback = 1.0, .doc = "All numbers are below it."}},
                           infer, compute);
  def.samples.push_back({.inputs = {}, .attrs = {{"shape", Dims{30}}, {"low", -3.0}, {"high", -2.0}, {"dtype", DType::bf16}}});
  return def;
}

}  // namespace regrow::ops
