// SPDX-License-Identifier: Apache-2.0
// A one-shot meeting of a waiting caller and the worker. It stands on the caller's stack and travels in a command; the worker fills
// in the answer, then calls finish() once and never touches it again. Nothing else is shared, so no wake-up can be lost and any
// number of callers can wait.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstddef>
#include <cstdint>
#include <exception>

#include "regrow/base/futex.h"
#include "regrow/runtime/device_tensor.h"
#include "regrow/runtime/memory_report.h"
#include "regrow/tensor/host_array.h"

namespace regrow::runtime {

struct Waiter {
  // The answer. `error` is what the caller throws; the rest depends on the command.
  std::exception_ptr error;
  absl::InlinedVector<Desc, 2> descs;  // of the tensors waited for, all known
  std::byte* destination = nullptr;    // read: where the elements go, row-major, if the caller knows the shape; else: `value`
  HostArray value;
  DeviceTensor tensor;
  MemoryReport report;

  void finish() noexcept;  // worker
  void wait() noexcept;    // caller: a few microseconds of spinning, then a sleep that signals may interrupt

 private:
  static constexpr std::uint32_t pending = 0, asleep = 1, done = 2;
  FutexWord state_{pending};
};

}  // namespace regrow::runtime
