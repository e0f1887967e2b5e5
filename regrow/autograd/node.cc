// SPDX-License-Identifier: Apache-2.0
#include "regrow/autograd/node.h"

#include <atomic>
#include <utility>

#include "regrow/autograd/pool.h"

namespace regrow::autograd {
namespace {

std::uint64_t next_sequence() {
  static std::atomic<std::uint64_t> sequence = 0;
  return sequence.fetch_add(1, std::memory_order_relaxed);
}

const OpRecord& leaf_record() {
  static const OpRecord& record = *[] {
    auto* leaf = new OpRecord;
    leaf->name = "leaf";
    return leaf;
  }();
  return record;
}

// Nodes whose last owner went, waiting to be freed by the outermost release on this thread.
constinit thread_local Node* to_free = nullptr;
constinit thread_local bool freeing = false;

}  // namespace

Node::Node(const Op& applied, Site issued) : Recorded(false), op(applied), site(issued), sequence_(next_sequence()) {}

Node::Node(Shared<SharedDesc> desc, Site issued)
    : Recorded(true), op(leaf_record()), site(issued), output_descs{std::move(desc)}, sequence_(next_sequence()) {}

void Node::release_saved() noexcept {
  released = true;
  edges.clear();
  saved_inputs.clear();
  saved_outputs.clear();
  input_descs.clear();
  custom.reset();
}

void release(Recorded* recorded) noexcept {
  Node* node = static_cast<Node*>(recorded);
  node->next_to_free = std::exchange(to_free, node);
  if (std::exchange(freeing, true)) return;
  while (to_free) {
    Node* next = std::exchange(to_free, to_free->next_to_free);
    Pool<Node>::recycle(next);  // may put the nodes it led to on the list
  }
  freeing = false;
}

}  // namespace regrow::autograd
