// SPDX-License-Identifier: Apache-2.0
// Random numbers by element: number i of a stream is a pure function of (key, counter, i), whoever asks, in whatever pieces. Any
// thread.
//
// Word i is word i % 4 of the Philox block whose 128-bit counter is (i / 4, counter), 64 bits each, lower words first.
#pragma once

#include <cstddef>
#include <cstdint>

namespace regrow::kernels {

struct RandomStream {
  std::uint64_t key = 0;
  std::uint64_t counter = 0;
};

// Words [first, first + n); `first` is a multiple of 4. Writes up to the next multiple of random_padding.
inline constexpr std::size_t random_padding = 64;
void random_words(const RandomStream& stream, std::uint64_t first, std::size_t n, std::uint32_t* out) noexcept;

// Standard normal numbers, by the method of Box and Muller: 2 k and 2 k + 1 are made of the uniform ones with these numbers. f32
// takes one word a number, f64 two. n is even; buffers are padded as above.
void normal_of_words(const std::uint32_t* words, std::size_t n, float* out) noexcept;
void normal_of_words(const std::uint32_t* words, std::size_t n, double* out) noexcept;

// In [0, 1): of the upper `bits` bits of a word, at most 24; of the upper 53 of two.
inline float uniform_of_word(std::uint32_t word, int bits) noexcept {
  return static_cast<float>(word >> (32 - bits)) * (1.0f / static_cast<float>(std::uint32_t{1} << bits));
}
inline std::uint64_t joined(const std::uint32_t* words) noexcept { return words[0] | std::uint64_t{words[1]} << 32; }
inline double uniform_of_words(const std::uint32_t* words) noexcept { return static_cast<double>(joined(words) >> 11) * 0x1p-53; }

}  // namespace regrow::kernels
