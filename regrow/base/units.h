// SPDX-License-Identifier: Apache-2.0
// Sizes in bytes, and how to print them. Any thread.
#pragma once

#include <cstddef>
#include <string>

namespace regrow {

constexpr std::size_t KiB(std::size_t n) { return n << 10; }
constexpr std::size_t MiB(std::size_t n) { return n << 20; }
constexpr std::size_t GiB(std::size_t n) { return n << 30; }

// "512 B", "64.0 KiB", "1.5 GiB".
std::string format_bytes(std::size_t bytes);

}  // namespace regrow
