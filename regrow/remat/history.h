// SPDX-License-Identifier: Apache-2.0
// When will a storage be read next? The stream of issued operations is recorded, and compared with what was issued before: while it
// repeats an earlier stretch (the iteration before, as a rule), what came next there is what comes next here. One thread.
//
// Operations are compared by operator, attributes and shapes (their key), and by which operations, counted backwards, made their
// inputs. After a difference the place is looked for near by, then by the last few operations. The record is bounded.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "regrow/machine/machine.h"
#include "regrow/remat/trace.h"

namespace regrow::remat {

class History {
 public:
  using StorageId = machine::StorageId;

  explicit History(std::size_t most_operations = std::size_t{1} << 16) : most_(most_operations) {}

  // The next operation. A view among the outputs is the storage of its input.
  void issued(std::uint64_t key, std::span<const StorageId> inputs, std::span<const StorageId> outputs);
  // What the operation that was issued last takes.
  void took(double seconds);
  // Nobody will read the storage any more: its like will not be read either.
  void ended(StorageId id);
  // Storages are numbered anew, by someone who knows nothing of those before.
  void forget_storages();
  // The stream of a program; what is issued next is expected to be its beginning.
  void learn(const Trace& trace);

  bool follows() const noexcept { return follows_; }  // the stream repeats an earlier one here
  double now() const noexcept;                        // on the clock of the stretch that is repeated: seconds of operators, each once
  struct Use {
    bool known = false;
    double at = std::numeric_limits<double>::infinity();  // on the same clock; infinite: never
  };
  Use next_use(StorageId id) const noexcept;
  std::size_t operations() const noexcept { return ops_.size(); }

 private:
  using Index = std::uint64_t;  // of operations and nodes: absolute, counted from the beginning of all time
  static constexpr Index nil = ~Index{0}, over = nil - 1;
  struct Op {
    std::uint64_t signature;
    double at;
    Index first_node;
  };
  struct Node {  // a storage is made or read
    Index op, next;  // next: of the same storage; nil: not yet; over: there is none
  };
  struct Track {  // of a storage
    Index made = nil;         // by which operation
    std::uint32_t output = 0;
    Index last = nil;         // node: what happened to it last
    Index counterpart = nil;  // node: what happened to its like then
  };

  const Op& op(Index i) const noexcept { return ops_[i - first_op_]; }
  const Node& node(Index i) const noexcept { return nodes_[i - first_node_]; }
  Index end() const noexcept { return first_op_ + ops_.size(); }
  Track& track(StorageId id);
  std::uint64_t signature(std::uint64_t key, std::span<const StorageId> inputs, std::size_t outputs);
  void find_place(std::uint64_t signature, std::uint64_t context);
  std::uint64_t context(std::uint64_t signature) const noexcept;
  void begin_again(Index begin);  // all that there was has ended; what comes next is expected to be like what began there
  void add_node(StorageId id, Index counterpart);
  void trim(std::size_t keep);

  std::size_t most_;
  std::vector<Op> ops_;
  std::vector<Node> nodes_;
  Index first_op_ = 0, first_node_ = 0;
  double clock_ = 0;
  std::vector<Track> tracks_;  // by storage
  absl::flat_hash_map<std::uint64_t, Index> places_;  // by context: the latest
  bool follows_ = false;
  Index place_ = nil;        // the operation that the last one repeats
  Index expected_ = nil;     // that the next one should repeat
  std::uint64_t lost_ = 0;   // operations since the stream was last like an earlier one
};

}  // namespace regrow::remat
