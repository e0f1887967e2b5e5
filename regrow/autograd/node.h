// SPDX-License-Identifier: Apache-2.0
// What the tape remembers of one operation: the operator, just the values its gradient reads, descriptors, and where the
// gradients of its inputs go. Immutable once recorded, but for what a backward pass marks and frees while it holds the lock of
// backward.cc. Any thread may hold and release nodes; releasing walks chains of any length without recursion.
#pragma once

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "regrow/autograd/custom.h"
#include "regrow/autograd/value.h"
#include "regrow/ops/op.h"

namespace regrow::autograd {

class Node : public Recorded {
 public:
  Node(const Op& applied, Site issued);
  // A leaf, shaped like `desc`: gradients end here, in grads[0].
  Node(Shared<SharedDesc> desc, Site issued);

  // Larger than the sequence of every node that this one leads to.
  std::uint64_t sequence() const noexcept { return sequence_; }
  // Frees what the gradient reads and the ways on; another backward through this node is an error.
  void release_saved() noexcept;

  // Marks of the backward pass that runs.
  bool queued = false, visited = false, needed = true, target = false;
  std::uint8_t pass = 0;  // how deep the pass is nested that these marks belong to; 0: none
  bool released = false;
  Op op;
  Site site;
  RandomState random;
  absl::InlinedVector<Edge, 2> edges;                         // one an input
  absl::InlinedVector<Shared<OwnedHandle>, 2> saved_inputs;   // one an input; null where it is not read
  absl::InlinedVector<Shared<OwnedHandle>, 1> saved_outputs;  // one an output
  absl::InlinedVector<Shared<SharedDesc>, 2> input_descs;
  absl::InlinedVector<Shared<SharedDesc>, 1> output_descs;
  absl::InlinedVector<Value, 1> grads;           // of the outputs, while a backward pass gathers them
  Value gradient;                                // of a leaf, for its owner to read
  std::unique_ptr<const CustomGradient> custom;  // instead of the record's rule
  Node* next_to_free = nullptr;

 private:
  std::uint64_t sequence_;
};

// Whether a record's mask saves input or output i: those beyond the last name (xs...) share its bit.
inline bool is_saved(std::uint32_t mask, std::size_t i, std::size_t named) noexcept {
  return (mask >> std::min(i, named == 0 ? std::size_t{0} : named - 1)) & 1u;
}

inline Node* Edge::node() const noexcept { return static_cast<Node*>(recorded.get()); }

}  // namespace regrow::autograd
