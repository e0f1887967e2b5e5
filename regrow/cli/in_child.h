// SPDX-License-Identifier: Apache-2.0
// A number that is found in a process of its own, so that none of the memory which that takes is left behind. Main thread.
#pragma once

#include <cstdint>
#include <functional>

namespace regrow::cli {

// Call it before there are other threads. Errors of the child are thrown here, as Error.
std::uint64_t in_child(const std::function<std::uint64_t()>& find);

}  // namespace regrow::cli
