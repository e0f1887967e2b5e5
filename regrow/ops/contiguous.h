// SPDX-License-Identifier: Apache-2.0
// Inputs of an operator whose kernel wants contiguous ones: those that are not are copied into the workspace. Any thread.
#pragma once

#include <array>

#include "regrow/kernels/workspace.h"
#include "regrow/ops/op.h"

namespace regrow {

// What the copies take of a workspace, in front.
std::size_t contiguous_bytes(std::span<const Desc* const> in);

class ContiguousInputs {
 public:
  static constexpr std::size_t most = 8;
  ContiguousInputs(std::span<const View> in, std::span<std::byte> workspace);  // copies; at most `most` inputs
  ContiguousInputs(const ContiguousInputs&) = delete;

  View operator[](std::size_t i) const { return {&descs_[i], data_[i]}; }
  std::span<std::byte> rest() const noexcept { return rest_; }  // of the workspace

 private:
  std::array<Desc, most> descs_;
  std::array<std::byte*, most> data_{};
  std::span<std::byte> rest_;
};

}  // namespace regrow
