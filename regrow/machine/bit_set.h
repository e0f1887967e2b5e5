// SPDX-License-Identifier: Apache-2.0
// A growing set of small numbers as bits, with operations on ranges and runs, a word at a time. One thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace regrow::machine {

class BitSet {
 public:
  void resize(std::size_t bits) { words_.resize((bits + 63) / 64); }
  std::size_t words() const noexcept { return words_.size(); }
  std::uint64_t word(std::size_t w) const noexcept { return words_[w]; }

  bool test(std::size_t i) const noexcept { return i / 64 < words_.size() && (words_[i / 64] >> i % 64 & 1) != 0; }
  void set(std::size_t first, std::size_t count, bool on) noexcept {
    each_word(first, count, [&](std::size_t w, std::uint64_t mask) { words_[w] = on ? words_[w] | mask : words_[w] & ~mask; });
  }
  std::size_t count(std::size_t first, std::size_t count) const noexcept {
    std::size_t sum = 0;
    each_word(first, count, [&](std::size_t w, std::uint64_t mask) {
      sum += static_cast<std::size_t>(std::popcount(words_[w] & mask));
    });
    return sum;
  }

 private:
  template <class F>
  static void each_word(std::size_t first, std::size_t count, F f) {
    const std::size_t end = first + count;
    for (std::size_t at = first; at < end;) {
      const std::size_t next = std::min(end, (at / 64 + 1) * 64);
      f(at / 64, ~std::uint64_t{0} >> (64 - (next - at)) << at % 64);
      at = next;
    }
  }

  std::vector<std::uint64_t> words_;
};

// Calls f(first, count) for each run of numbers that are in `a` and not in `b`, in ascending order.
template <class F>
void each_run_without(const BitSet& a, const BitSet& b, F f) {
  std::size_t start = 0;
  bool inside = false;
  for (std::size_t w = 0; w < a.words(); ++w) {
    const std::uint64_t bits = a.word(w) & ~b.word(w);
    if (inside ? ~bits == 0 : bits == 0) continue;
    for (unsigned at = 0; at < 64;) {  // to the next bit that is unlike the ones before
      const std::uint64_t rest = (inside ? ~bits : bits) >> at;
      if (rest == 0) break;
      at += static_cast<unsigned>(std::countr_zero(rest));
      if (inside) f(start, w * 64 + at - start);
      start = w * 64 + at;
      inside = !inside;
    }
  }
  if (inside) f(start, a.words() * 64 - start);
}

}  // namespace regrow::machine
