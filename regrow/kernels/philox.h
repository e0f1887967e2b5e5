// SPDX-License-Identifier: Apache-2.0
// Philox 4x32 with 10 rounds: 128 random bits as a pure function of a 64-bit key and a 128-bit counter (Salmon et al., "Parallel
// random numbers: as easy as 1, 2, 3", SC 2011). Any thread.
#pragma once

#include <array>
#include <cstdint>

namespace regrow::kernels {

struct Philox {
  static constexpr std::uint32_t multiplier0 = 0xd2511f53, multiplier1 = 0xcd9e8d57;
  static constexpr std::uint32_t weyl0 = 0x9e3779b9, weyl1 = 0xbb67ae85;  // what the key grows by, each round
  static constexpr int rounds = 10;

  using Block = std::array<std::uint32_t, 4>;

  static constexpr Block block(Block counter, std::array<std::uint32_t, 2> key) noexcept {
    for (int round = 0; round < rounds; ++round) {
      const std::uint64_t p0 = std::uint64_t{multiplier0} * counter[0], p1 = std::uint64_t{multiplier1} * counter[2];
      counter = {static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
                 static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
      key[0] += weyl0, key[1] += weyl1;
    }
    return counter;
  }
};

}  // namespace regrow::kernels
