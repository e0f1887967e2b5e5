// SPDX-License-Identifier: Apache-2.0
// Pseudo-random numbers for data, a function of a seed alone: splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom
// number generators", 2014). One thread a generator.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace regrow::data {

class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t state) : state_(state) {}

  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }
  // Uniform in [0, bound), without bias: values of the incomplete last stretch are drawn again.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t reject = -bound % bound;  // 2^64 mod bound
    std::uint64_t x = next();
    while (x < reject) x = next();
    return x % bound;
  }
  // Uniform in [first, last].
  std::int64_t between(std::int64_t first, std::int64_t last) {
    return first + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(last - first) + 1));
  }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // in [0, 1)
  // Of mean 0 and deviation 1 (Box and Muller 1958: two at a time).
  double normal() {
    if (spare_) return spare_ = false, next_;
    const double radius = std::sqrt(-2 * std::log1p(-uniform())), angle = 2 * std::numbers::pi * uniform();
    spare_ = true;
    next_ = radius * std::sin(angle);
    return radius * std::cos(angle);
  }

 private:
  std::uint64_t state_;
  double next_ = 0;
  bool spare_ = false;
};

}  // namespace regrow::data
