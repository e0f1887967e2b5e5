// SPDX-License-Identifier: Apache-2.0
// Every instruction set that the library is compiled for and this processor has, not just the best one.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "hwy/targets.h"
#include "regrow/kernels/elementwise.h"
#include "regrow/kernels/random.h"

namespace regrow::kernels {
namespace {

// Runs `body` with the best instruction set, then with AVX2 at most, then with none but the processor's base.
template <class Body>
void with_every_target(Body&& body) {
  for (std::int64_t targets : {std::int64_t{0}, std::int64_t{HWY_AVX2 | HWY_SCALAR}, std::int64_t{HWY_SCALAR}}) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body(targets);
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

constexpr std::size_t count = 3000;

std::vector<std::byte> operand(DType type, std::mt19937& random) {
  std::vector<std::byte> bytes(count * 8);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  if (type == DType::boolean)
    for (std::byte& byte : bytes) byte &= std::byte{1};
  if (type == DType::f32)
    for (std::size_t i = 0; i < count; i += 2) {
      const auto value = static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 100;
      std::memcpy(bytes.data() + i * 4, &value, 4);
    }
  return bytes;
}

std::vector<std::byte> run(const TileKernel& kernel, const std::vector<std::vector<std::byte>>& in) {
  std::vector<std::byte> out(count * size_of(kernel.result));
  const void* from[max_tile_inputs];
  for (std::size_t a = 0; a < in.size(); ++a) from[a] = in[a].data();
  kernel.fn(from, out.data(), count);
  return out;
}

// NaN has many bit patterns, and which of two operands' it is, is the processor's choice. `scale`: what the result was computed from,
// where large terms cancel: ulps count from the larger of both.
void expect_equal(DType type, const std::vector<std::byte>& a, const std::vector<std::byte>& b, double ulps,
                  const std::vector<std::byte>* scale) {
  const auto compare = [&]<class T>(T) {
    for (std::size_t i = 0; i < count; ++i) {
      T x, y;
      std::memcpy(&x, a.data() + i * sizeof(T), sizeof x);
      std::memcpy(&y, b.data() + i * sizeof(T), sizeof y);
      if (std::isnan(x) && std::isnan(y)) continue;
      if (x == y) continue;
      T from = x;
      if (scale) std::memcpy(&from, scale->data() + i * sizeof(T), sizeof from);
      const double size = std::max(std::fabs(static_cast<double>(x)), std::fabs(static_cast<double>(from)));
      const double unit = std::max(size * std::numeric_limits<T>::epsilon(),
                                   static_cast<double>(std::numeric_limits<T>::denorm_min()));
      ASSERT_LE(std::fabs(static_cast<double>(x) - static_cast<double>(y)), ulps * unit) << "element " << i;
    }
  };
  if (type == DType::f32)
    compare(float{});
  else if (type == DType::f64)
    compare(double{});
  else
    ASSERT_EQ(a, b);
}

TEST(Targets, DifferWhereTheProcessorHasAVX2) {
#ifdef HWY_COMPILE_ONLY_STATIC
  GTEST_SKIP() << "compiled for one of them";
#endif
  if ((hwy::SupportedTargets() & HWY_AVX2) == 0) GTEST_SKIP() << "only the base";
  std::vector<TileFn> functions;
  with_every_target([&](std::int64_t) { functions.push_back(binary(Binary::add, DType::f32).fn); });
  EXPECT_NE(functions[1], functions[2]);
}

TEST(Targets, AllGiveTheSameValues) {
  std::mt19937 random(5);
  std::vector<std::vector<std::byte>> operands;
  for (int t = 0; t < dtype_count; ++t) operands.push_back(operand(static_cast<DType>(t), random));
  std::vector<std::vector<std::byte>> first;
  with_every_target([&](std::int64_t target) {
    std::size_t at = 0;
    const auto check = [&](const TileKernel& kernel, const std::vector<std::vector<std::byte>>& in, double ulps,
                           bool cancels = false) {
      if (!kernel.fn) return;
      const std::vector<std::byte> out = run(kernel, in);
      if (target == 0)
        first.push_back(out);
      else
        expect_equal(kernel.result, first[at], out, ulps, cancels ? &in[0] : nullptr);
      ++at;
    };
    for (int t = 0; t < dtype_count; ++t) {
      const auto type = static_cast<DType>(t);
      const auto index = static_cast<std::size_t>(t);
      for (int to = 0; to < dtype_count; ++to) {
        SCOPED_TRACE(::testing::Message() << name_of(type) << " to " << name_of(static_cast<DType>(to)) << ", target " << target);
        check(convert(type, static_cast<DType>(to)), {operands[index]}, 0);
      }
      check(select(type), {operands[0], operands[index], operands[index]}, 0);
      if (compute_type(type) != type) continue;
      for (int f = 0; f <= static_cast<int>(Unary::logical_not); ++f) {
        SCOPED_TRACE(::testing::Message() << "unary " << f << " of " << name_of(type) << ", target " << target);
        const bool rounded = f >= static_cast<int>(Unary::exp) && f <= static_cast<int>(Unary::silu);
        check(unary(static_cast<Unary>(f), type), {operands[index]}, rounded ? 8 : 0, f >= static_cast<int>(Unary::gelu) && rounded);
      }
      for (int f = 0; f <= static_cast<int>(Binary::logical_xor); ++f) {
        SCOPED_TRACE(::testing::Message() << "binary " << f << " of " << name_of(type) << ", target " << target);
        const bool rounded = f >= static_cast<int>(Binary::gelu_gradient) && f <= static_cast<int>(Binary::silu_gradient);
        // The derivative inside gelu grows as the square of its argument.
        check(binary(static_cast<Binary>(f), type), {operands[index], operands[index]}, rounded ? 32 : 0, rounded);
      }
    }
  });
}

TEST(Targets, AllGiveTheSameRandomNumbers) {
  std::vector<std::uint32_t> first;
  std::vector<float> first_normal;
  with_every_target([&](std::int64_t target) {
    std::vector<std::uint32_t> words(1000 + random_padding);
    std::vector<float> normal(1000 + random_padding);
    random_words({3, 4}, 8, 1000, words.data());
    normal_of_words(words.data(), 1000, normal.data());
    words.resize(1000), normal.resize(1000);
    if (target == 0) {
      first = words, first_normal = normal;
      return;
    }
    EXPECT_EQ(words, first);
    for (std::size_t i = 0; i < 1000; ++i) ASSERT_NEAR(normal[i], first_normal[i], 1e-5);
  });
}

}  // namespace
}  // namespace regrow::kernels
