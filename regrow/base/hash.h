// SPDX-License-Identifier: Apache-2.0
// Hashing of bytes and of several hashes into one: 64 bits, stable within a run. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace regrow {

// XXH3 of the bytes.
std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t seed = 0) noexcept;

// The finalizer of splitmix64 over a combination that keeps small pairs apart: cheap, and every input bit reaches every output bit.
constexpr std::uint64_t hash_combine(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t x = a * 0xd6e8feb86659fd93ull + b + 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

}  // namespace regrow
