// SPDX-License-Identifier: Apache-2.0
// Threads for kernels: a loop over [0, count) that may be split among a few of them. Results must not depend on the split. Any
// thread; a call that finds the threads busy, comes from inside such a loop, or runs in a forked child is a plain loop.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace regrow::kernels {

// How many threads one loop may use, the caller included: by default, the processors that this process may run on. 1: plain
// loops. Throws Error below 1. Waits for loops that run at this moment.
void set_kernel_threads(int threads);
int kernel_threads() noexcept;

// Calls body(context, begin, end) for ranges that cover [0, count) once, each of at least `grain` (but for the last one), and
// returns when all have. The body must not throw.
void parallel_for(std::int64_t count, std::int64_t grain, void (*body)(void*, std::int64_t, std::int64_t), void* context);

template <class Body>
requires std::is_invocable_v<Body&, std::int64_t, std::int64_t>
void parallel_for(std::int64_t count, std::int64_t grain, Body&& body) {
  using Plain = std::remove_reference_t<Body>;
  parallel_for(
      count, grain, [](void* context, std::int64_t begin, std::int64_t end) { (*static_cast<Plain*>(context))(begin, end); },
      const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

}  // namespace regrow::kernels
