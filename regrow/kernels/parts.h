// SPDX-License-Identifier: Apache-2.0
// Work cut into parts whose number follows from the work and the number of kernel threads alone, never from which threads happen
// to be free, so that kernels whose bits depend on the cut give the same bits every time. Any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <mutex>

#include "regrow/kernels/parallel.h"

namespace regrow::kernels {

// One part for each `least` units of work, up to the number of kernel threads.
inline int parts_for(double work, double least) {
  return static_cast<int>(std::clamp(work / least, 1.0, static_cast<double>(kernel_threads())));
}

// Where part `index` of `parts` begins in [0, count), at a multiple of `step`; part `parts` begins at count.
constexpr std::int64_t cut(std::int64_t count, int parts, int index, std::int64_t step = 1) {
  if (index == parts) return count;
  const std::int64_t steps = (count + step - 1) / step;
  return std::min(count, steps * index / parts * step);
}

// body(index) for every part, on several threads. Throws one of the exceptions that bodies threw, when all have returned.
template <class Body>
void for_parts(int parts, Body&& body) {
  if (parts == 1) return body(0);
  std::exception_ptr thrown;
  std::mutex mutex;
  parallel_for(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) try {
        body(static_cast<int>(i));
      } catch (...) {
        const std::scoped_lock lock(mutex);
        thrown = std::current_exception();
      }
  });
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace regrow::kernels
