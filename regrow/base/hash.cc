// SPDX-License-Identifier: Apache-2.0
#include "regrow/base/hash.h"

#include <xxhash.h>

namespace regrow {

std::uint64_t hash_bytes(const void* data, std::size_t bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

}  // namespace regrow
