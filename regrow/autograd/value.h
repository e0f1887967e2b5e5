// SPDX-License-Identifier: Apache-2.0
// A value of the default channel as programs hold it: shared ownership of a handle, and where its gradient flows. Copies are
// cheap, and the last one deletes the handle, from any thread, without blocking. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "regrow/autograd/shared.h"
#include "regrow/base/site.h"
#include "regrow/runtime/handle.h"
#include "regrow/tensor/desc.h"

namespace regrow::autograd {

struct SharedDesc {
  explicit SharedDesc(const Desc& d) : desc(d) {}
  std::atomic<std::uint32_t> owners = 1;
  const Desc desc;
};
void release(SharedDesc* desc) noexcept;

// The one owner of a channel's handle.
struct OwnedHandle {
  explicit OwnedHandle(Handle h) : handle(h) {}
  std::atomic<std::uint32_t> owners = 1;
  const Handle handle;
  std::atomic<SharedDesc*> desc = nullptr;  // once its shape was known
};
void release(OwnedHandle* handle) noexcept;

// What an operation left on the tape (node.h).
struct Recorded {
  explicit Recorded(bool is_leaf) : leaf(is_leaf) {}
  std::atomic<std::uint32_t> owners = 1;
  const bool leaf;  // a gradient cell, not an operation
};
void release(Recorded* node) noexcept;
class Node;

// Output `output` of what `node` recorded; a null node: no gradient flows.
struct Edge {
  Shared<Recorded> recorded;
  std::uint32_t output = 0;
  explicit operator bool() const noexcept { return static_cast<bool>(recorded); }
  Node* node() const noexcept;  // inline in node.h
};

class Value {
 public:
  Value() = default;              // no value
  explicit Value(Handle handle);  // takes ownership
  Value(Shared<OwnedHandle> handle, Edge edge) : handle_(std::move(handle)), edge_(std::move(edge)) {}

  explicit operator bool() const noexcept { return static_cast<bool>(handle_); }
  Handle handle() const noexcept { return handle_ ? handle_->handle : Handle{}; }
  const Shared<OwnedHandle>& shared_handle() const noexcept { return handle_; }
  bool needs_grad() const noexcept { return static_cast<bool>(edge_); }
  bool is_leaf() const noexcept { return edge_ && edge_.recorded->leaf; }
  const Edge& edge() const noexcept { return edge_; }
  void set_edge(Edge edge) noexcept { edge_ = std::move(edge); }
  Value detached() const { return Value(handle_, {}); }

  // Type, device and, where it is known without waiting, shape.
  Shared<SharedDesc> desc(Site site) const { return desc_of(handle_, site); }
  // The same with its shape: waits if that depends on data.
  Shared<SharedDesc> known_desc(Site site) const { return known_desc_of(handle_, site); }

  static Shared<SharedDesc> desc_of(const Shared<OwnedHandle>& handle, Site site);
  static Shared<SharedDesc> known_desc_of(const Shared<OwnedHandle>& handle, Site site);

 private:
  Shared<OwnedHandle> handle_;
  Edge edge_;
};

}  // namespace regrow::autograd
