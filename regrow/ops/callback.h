// SPDX-License-Identifier: Apache-2.0
// What an application of `callback` carries: the user's function and what it promises to return. Immutable. Any thread.
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

class CallbackObject final : public AttrObject {
 public:
  CallbackObject(std::string name, Callback function, std::optional<std::vector<CallbackOutput>> outputs)
      : name_(std::move(name)), function_(std::move(function)), outputs_(std::move(outputs)) {}

  const std::string& name() const noexcept { return name_; }
  std::string text() const override { return "name=" + name_; }
  // nullopt: one output like each input.
  const std::optional<std::vector<CallbackOutput>>& outputs() const noexcept { return outputs_; }
  // Calls the function and checks what it returns against `promised`: number, types, and shapes where they are known. Throws Error
  // if they differ, and whatever the function throws.
  std::vector<HostArray> call(std::span<const HostArray> in, std::span<const Desc* const> promised) const;

 private:
  std::string name_;
  Callback function_;
  std::optional<std::vector<CallbackOutput>> outputs_;
};

// The object of an application of `callback`.
inline const CallbackObject& callback_of(const Attrs& attrs) {
  require(attrs.object() != nullptr, "callback: made by callback_op() alone");
  return static_cast<const CallbackObject&>(*attrs.object());
}

}  // namespace regrow
