// SPDX-License-Identifier: Apache-2.0
// Counts the bytes that the calling thread takes with operator new. Any thread.
#pragma once

#include <cstddef>

namespace regrow::io {

inline constinit thread_local std::size_t allocated_bytes = 0;  // all that was taken, given back or not

}  // namespace regrow::io
