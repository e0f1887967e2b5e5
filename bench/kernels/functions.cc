// SPDX-License-Identifier: Apache-2.0
// Errors of the rounded f32 functions over all bit patterns (every --every'th of them), in units of the last place of the exact
// value (long double), and time an element. Prints JSON. One thread.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "regrow/kernels/elementwise.h"

namespace regrow::kernels {
namespace {

using Exact = long double (*)(long double);

long double sigmoid(long double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }
// What is left of a normal distribution beyond |x| decides the sign of the loss of digits: erfc has none.
long double gelu(long double x) { return std::isinf(x) ? (x > 0 ? x : 0) : x * std::erfc(-x / std::sqrt(2.0L)) / 2; }
long double gelu_tanh(long double x) {
  if (std::isinf(x)) return x > 0 ? x : 0;
  const long double inner = std::sqrt(2 / 3.14159265358979323846264338327950288L) * (x + 0.044715L * x * x * x);
  return x * sigmoid(2 * inner);  // (1 + tanh y) / 2
}
long double silu(long double x) { return std::isinf(x) ? (x > 0 ? x : 0) : x * sigmoid(x); }

struct Function {
  const char* name;
  Unary function;
  Exact exact;
};
constexpr Function functions[] = {
    {"exp", Unary::exp, std::exp},
    {"expm1", Unary::expm1, std::expm1},
    {"log", Unary::log, std::log},
    {"log1p", Unary::log1p, std::log1p},
    {"sin", Unary::sin, std::sin},
    {"cos", Unary::cos, std::cos},
    {"tanh", Unary::tanh, std::tanh},
    {"sigmoid", Unary::sigmoid, sigmoid},
    {"erf", Unary::erf, std::erf},
    {"gelu", Unary::gelu, gelu},
    {"gelu_tanh", Unary::gelu_tanh, gelu_tanh},
    {"silu", Unary::silu, silu},
};

double ulps(float got, long double exact) {
  using Limits = std::numeric_limits<float>;
  if (std::isnan(exact)) return std::isnan(got) ? 0 : HUGE_VAL;
  if (std::fabs(exact) > Limits::max()) return got == static_cast<float>(exact) || std::isinf(got) ? 0 : HUGE_VAL;
  const int exponent = exact == 0 ? Limits::min_exponent : std::max(std::ilogb(exact), Limits::min_exponent - 1);
  return static_cast<double>(std::fabs(got - exact) / std::ldexp(1.0L, exponent + 1 - Limits::digits));
}

struct Worst {
  double error = 0, where = 0;
};

Worst worst_of(const Function& f, std::uint64_t every) {
  constexpr std::size_t together = 4096;
  const TileFn kernel = unary(f.function, DType::f32).fn;
  std::vector<float> x, y(together);
  Worst worst;
  for (std::uint64_t bits = 0; bits < 1ull << 32;) {
    x.clear();
    for (; x.size() < together && bits < 1ull << 32; bits += every)
      x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    const void* in = x.data();
    kernel(&in, y.data(), x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = ulps(y[i], f.exact(x[i]));
      if (error > worst.error) worst = {error, x[i]};
    }
  }
  return worst;
}

double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Nanoseconds an element, of 16,384 in the second cache, between -8 and 8 (logarithms: 0 and 16); the best of 15 rounds.
double time_of(const Function& f) {
  std::vector<float> x(1 << 14), y(x.size());
  const bool logarithm = f.function == Unary::log || f.function == Unary::log1p;
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = 16 * (static_cast<float>(i) + 0.5f) / static_cast<float>(x.size()) - (logarithm ? 0 : 8);
  const TileFn kernel = unary(f.function, DType::f32).fn;
  const void* in = x.data();
  double best = HUGE_VAL;
  for (int round = 0; round < 15; ++round) {
    const double begin = now();
    int calls = 0;
    do kernel(&in, y.data(), x.size()), ++calls;
    while (now() - begin < 0.004);
    best = std::min(best, (now() - begin) / calls / static_cast<double>(x.size()));
  }
  return 1e9 * best;
}

}  // namespace
}  // namespace regrow::kernels

int main(int argc, char** argv) {
  using namespace regrow::kernels;
  const std::uint64_t every = argc == 3 && std::string(argv[1]) == "--every" ? std::stoull(argv[2]) : 997;
  nlohmann::ordered_json rows;
  for (const Function& f : functions) {
    const Worst worst = worst_of(f, every);
    rows[f.name] = {{"ulp", worst.error}, {"at", worst.where}, {"ns", time_of(f)}};
  }
  fmt::print("{}\n", rows.dump(2));
  return 0;
}
