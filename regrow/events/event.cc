// SPDX-License-Identifier: Apache-2.0
#include "regrow/events/event.h"

namespace regrow {

std::string_view name_of(EventKind kind) noexcept {
  constexpr std::string_view names[] = {
      "command_queued", "command_begin",    "command_end",    "op_dispatch",    "op_execute_begin", "op_execute_end",
      "tensor_declare", "tensor_produce",   "tensor_use",     "tensor_release", "tensor_erase",     "wait_begin",
      "wait_end",       "notify",           "shape_inferred", "drop",           "swap_out",         "swap_in",
      "regrow_begin",   "regrow_end",       "cascade",        "worker_error",   "memory_sample",    "scope_begin",
      "scope_end",      "mark",             "profile_begin",  "profile_end"};
  return names[static_cast<std::size_t>(kind)];
}

}  // namespace regrow
