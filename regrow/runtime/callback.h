// SPDX-License-Identifier: Apache-2.0
// A user's function as an operator: it runs in order, on the worker, sees host copies of its inputs and may throw. Any thread.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "regrow/ops/callback.h"

namespace regrow {

// What a callback returns: by default one output like each input. (Not an optional vector: `.outputs = {{.dtype = …}}` would not
// reach the vector's elements.)
struct CallbackOutputs {
  CallbackOutputs() = default;
  CallbackOutputs(std::initializer_list<CallbackOutput> outputs) : declared(outputs) {}
  CallbackOutputs(std::vector<CallbackOutput> outputs) : declared(std::move(outputs)) {}  // NOLINT: an empty one is none
  std::optional<std::vector<CallbackOutput>> declared;
};

struct CallbackOptions {
  CallbackOutputs outputs = {};
};

// The callback is called once an application, on the channel's worker; it must not use a channel (such a call throws), but may let
// tensors go. What it returns is checked against what was declared.
Op callback_op(std::string name, Callback callback, CallbackOptions options = {});

}  // namespace regrow
