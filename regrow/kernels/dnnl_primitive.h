// SPDX-License-Identifier: Apache-2.0
// How this engine uses oneDNN: one OpenMP thread a call (threads are ours), scratchpads in the operation's workspace, for each
// thread a bounded cache of prepared primitives. Any thread. Nothing here is shared between threads but oneDNN's own engine.
//
// Making a primitive takes 100-200 us, finding a prepared one less than 0.1. Running one costs 0.4 us, in which oneDNN itself
// takes a handful of blocks of at most 64 bytes from the heap (its table of arguments) and gives them back; nothing else
// allocates.
#pragma once

#include <oneapi/dnnl/dnnl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "regrow/tensor/dims.h"
#include "regrow/tensor/dtype.h"

namespace regrow::kernels::dnnl {

// What a primitive was made for: its kind, and all sizes, strides and types that its making read. Unused places are 0.
struct Key {
  std::array<std::int64_t, 24> values{};
  friend bool operator==(const Key&, const Key&) = default;
};

struct Argument {
  int id = 0;  // DNNL_ARG_…
  const void* data = nullptr;
};

// A primitive with the memory objects that it is run on: made for one thread, to be run by it alone.
class Primitive {
 public:
  static constexpr std::size_t max_arguments = 5;

  // `what` is an operation descriptor of oneDNN; empty() afterwards if oneDNN has no implementation whose name begins with one of
  // `allowed`. Forward hints are for backward passes.
  Primitive(const_dnnl_op_desc_t what, std::span<const std::string_view> allowed, const_dnnl_primitive_desc_t hint = nullptr);
  // From one layout to another; arguments DNNL_ARG_FROM and DNNL_ARG_TO.
  Primitive(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to);
  Primitive(Primitive&&) = delete;
  ~Primitive();

  bool empty() const noexcept { return desc_ == nullptr; }
  const_dnnl_primitive_desc_t desc() const noexcept { return desc_; }
  std::string_view implementation() const noexcept;
  std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }
  // The layout that the implementation chose for an argument.
  const dnnl_memory_desc_t& layout(int argument) const;
  // All its arguments, and scratch of scratch_bytes(). Throws Error if oneDNN fails.
  void run(std::span<const Argument> arguments, void* scratch);

 private:
  dnnl_primitive_desc_t desc_ = nullptr;
  dnnl_primitive_t primitive_ = nullptr;  // made on the first run: planning needs the descriptor only
  std::size_t scratch_bytes_ = 0;
  std::array<int, max_arguments> ids_{};
  std::array<dnnl_memory_t, max_arguments> memories_{};
  std::size_t count_ = 0;
};

// What is prepared for one key: a step or several (reorders around a convolution).
struct Prepared {
  virtual ~Prepared() = default;
};

// The thread's entry under this key, made by `make` on the first call. It stays valid until the next call on this thread.
Prepared& prepared(const Key& key, std::unique_ptr<Prepared> (*make)(const Key& key));
std::size_t prepared_count() noexcept;  // on this thread
inline constexpr std::size_t max_prepared = 512;

// While it lives, oneDNN makes and runs primitives on one OpenMP thread in this thread; the user's setting is restored.
class SingleThread {
 public:
  SingleThread() noexcept;
  ~SingleThread();
  SingleThread(const SingleThread&) = delete;

 private:
  int before_;
};

// Whether this thread is inside a call of oneDNN: what it takes from the heap there is oneDNN's own table of arguments.
bool running() noexcept;

void check(dnnl_status_t status, const char* what);  // throws Error "oneDNN: … failed: out of memory"
dnnl_data_type_t type_of(DType dtype);               // f32, bf16; others throw Error
dnnl_memory_desc_t strided(DType dtype, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides);
dnnl_memory_desc_t any_layout(DType dtype, std::span<const std::int64_t> shape);

}  // namespace regrow::kernels::dnnl
