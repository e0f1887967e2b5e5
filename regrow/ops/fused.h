// SPDX-License-Identifier: Apache-2.0
// What an application of `fused` carries: elementwise operations that run as one pass over tiles, with the bits that they would have
// had one by one. Immutable. Any thread.
#pragma once

#include <string>
#include <vector>

#include "regrow/kernels/tile.h"
#include "regrow/ops/op.h"

namespace regrow {

class FusedObject final : public AttrObject {
 public:
  FusedObject(kernels::TileProgram program, std::vector<Op> members)
      : program_(std::move(program)), members_(std::move(members)) {}

  const kernels::TileProgram& program() const noexcept { return program_; }
  const std::vector<Op>& members() const noexcept { return members_; }  // one a step, in the order they were issued
  std::string text() const override {
    std::string text;
    for (const Op& op : members_) text.append(text.empty() ? "" : "+").append(op.name());
    return text;
  }

 private:
  kernels::TileProgram program_;
  std::vector<Op> members_;
};

inline const FusedObject& fused_of(const Attrs& attrs) {
  require(attrs.object() != nullptr, "fused: only the interpreter makes it");
  return static_cast<const FusedObject&>(*attrs.object());
}

}  // namespace regrow
