// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/random.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "regrow/kernels/philox.h"

namespace regrow::kernels {
namespace {

using ::testing::ElementsAre;

// Random123, tests/kat_vectors, philox4x32 with 10 rounds.
TEST(Philox, GivesTheKnownAnswers) {
  EXPECT_THAT(Philox::block({0, 0, 0, 0}, {0, 0}), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_THAT(Philox::block({ones, ones, ones, ones}, {ones, ones}), ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(Philox::block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(RandomWords, AreThePhiloxBlocksOfTheirNumbers) {
  const RandomStream stream{0x0123456789abcdef, 0xfedcba9876543210};
  // Also across the point where the lower half of the block's number overflows.
  for (std::uint64_t first : {std::uint64_t{0}, std::uint64_t{4}, std::uint64_t{1024}, (std::uint64_t{1} << 34) - 24}) {
    for (std::size_t n : {1, 4, 63, 64, 65, 200}) {
      std::vector<std::uint32_t> words(n + random_padding);
      random_words(stream, first, n, words.data());
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint64_t block = (first + i) / 4;
        const Philox::Block wanted =
            Philox::block({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), 0x76543210u, 0xfedcba98u},
                          {0x89abcdefu, 0x01234567u});
        ASSERT_EQ(words[i], wanted[(first + i) % 4]) << "word " << first + i;
      }
    }
  }
}

template <class T>
std::vector<T> normal(std::size_t n) {
  std::vector<std::uint32_t> words(n * sizeof(T) / 4 + random_padding);
  std::vector<T> numbers(n + random_padding);
  random_words({7, 9}, 0, n * sizeof(T) / 4, words.data());
  normal_of_words(words.data(), n, numbers.data());
  numbers.resize(n);
  return numbers;
}

// Box and Muller by hand, in double precision, of the same words.
TEST(Normal, IsWhatTheFormulaSays) {
  constexpr std::size_t n = 20000;
  std::vector<std::uint32_t> words(n + random_padding);
  random_words({7, 9}, 0, n, words.data());
  const std::vector<float> numbers = normal<float>(n);
  for (std::size_t i = 0; i < n; i += 2) {
    const double u = (words[i] + 0.5) / 4294967296.0, angle = ((words[i + 1] >> 8) / 16777216.0 - 0.5) * 2 * M_PI;
    const double radius = std::sqrt(-2 * std::log(u));
    ASSERT_NEAR(numbers[i], radius * std::cos(angle), 2e-6 * std::max(1.0, radius));
    ASSERT_NEAR(numbers[i + 1], radius * std::sin(angle), 2e-6 * std::max(1.0, radius));
  }
}

template <class T>
void expect_moments() {
  constexpr std::size_t n = 1000000;
  double sum = 0, squares = 0, fourth = 0, product = 0;
  const std::vector<T> numbers = normal<T>(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double x = static_cast<double>(numbers[i]);
    ASSERT_TRUE(std::isfinite(x));
    sum += x, squares += x * x, fourth += x * x * x * x;
    if (i % 2 == 0) product += x * static_cast<double>(numbers[i + 1]);
  }
  // Five standard errors of each.
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2.0 / n));
  EXPECT_NEAR(fourth / n, 3, 5 * std::sqrt(96.0 / n));
  EXPECT_NEAR(product / (n / 2), 0, 5 / std::sqrt(n / 2));
}

TEST(Normal, HasTheMomentsOfTheNormalDistribution) {
  expect_moments<float>();
  expect_moments<double>();
}

// What the least and the greatest words give: no infinity, no NaN.
TEST(Normal, IsFiniteAtTheEnds) {
  for (std::uint32_t a : {0u, 1u, 0xffffffffu})
    for (std::uint32_t b : {0u, 0x80000000u, 0xffffffffu}) {
      std::vector<std::uint32_t> words(4 + random_padding);
      words[0] = words[1] = a, words[2] = words[3] = b;
      std::vector<float> single(2 + random_padding);
      std::vector<double> wide(2 + random_padding);
      const std::uint32_t pair[random_padding] = {a, b};
      normal_of_words(pair, 2, single.data());
      normal_of_words(words.data(), 2, wide.data());
      for (int i = 0; i < 2; ++i)
        EXPECT_TRUE(std::isfinite(single[static_cast<std::size_t>(i)]) && std::isfinite(wide[static_cast<std::size_t>(i)]));
    }
}

}  // namespace
}  // namespace regrow::kernels
