// SPDX-License-Identifier: Apache-2.0
// A user's function as an operator: it runs in order, on the worker, sees host copies of its inputs and may throw.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "regrow/ops/op.h"
#include "regrow/tensor/host_array.h"

namespace regrow {

using Callback = std::function<std::vector<HostArray>(std::span<const HostArray>)>;

struct CallbackOutput {
  DType dtype = DType::f32;
  std::optional<Shape> shape;  // unknown: open until the callback has run
};

struct CallbackOptions {
  std::optional<std::vector<CallbackOutput>> outputs = std::nullopt;  // default: one like each input
};

// The callback may be called from the channel's worker only, once an application; it must not use the channel (such a call throws).
Op callback_op(std::string name, Callback callback, CallbackOptions options = {});

}  // namespace regrow
