// SPDX-License-Identifier: Apache-2.0
// A user's function as an operator: it runs in order, on the worker, sees host copies of its inputs and may throw. Any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "regrow/ops/callback.h"

namespace regrow {

struct CallbackOptions {
  std::optional<std::vector<CallbackOutput>> outputs = std::nullopt;  // default: one like each input
};

// The callback is called once an application, on the channel's worker; it must not use a channel (such a call throws), but may let
// tensors go. What it returns is checked against what was declared.
Op callback_op(std::string name, Callback callback, CallbackOptions options = {});

}  // namespace regrow
