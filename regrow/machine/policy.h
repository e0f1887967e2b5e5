// SPDX-License-Identifier: Apache-2.0
// Who names victims. The machine decides that room is needed, what may go, and carries it out; a policy says which goes first.
// What it says can cost time, never a value. One thread: that of the machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "regrow/machine/graph.h"

namespace regrow::machine {

// May its bytes go, to be made again later, or read back? What is smaller than the smallest victim is never offered.
inline bool evictable(const Graph& graph, const Storage& storage) noexcept {
  return storage.offered && storage.where == Where::memory && (storage.recipe != none || graph.spills()) && storage.pins == 0 &&
         storage.exports == 0 && !storage.foreign && storage.place.bytes > 0;
}

class Policy {
 public:
  virtual ~Policy() = default;

  // The graph that all ids are of. What was known about storages is forgotten; what was learnt about the stream and costs is not.
  virtual void attach(const Graph& graph) = 0;

  // An operation of the program (not a recomputation): called when its outputs exist and before it runs. An output that is a view
  // is the storage of its input. A value that is asked for, and all that a cut keeps, count as an operation with key 0 that reads
  // them, and is not followed by ran().
  virtual void issued(std::uint64_t key, std::span<const StorageId> inputs, std::span<const StorageId> outputs) = 0;
  // An operation has run. Returns what a run of it should be expected to take: kept as Recipe::seconds.
  virtual double ran(std::uint64_t key, double seconds, bool regrow) = 0;

  // It stands in memory, and has a recipe or may be spilled: it may be named from now on, whenever it is evictable().
  virtual void entered(StorageId id) = 0;
  // It may not be named any more: it has been evicted (graph: nowhere), written out (host), or cannot go.
  virtual void left(StorageId id) = 0;
  // An operation has read it, or it is no longer pinned.
  virtual void used(StorageId id) = 0;
  // Its id will be used again.
  virtual void erased(StorageId id) = 0;

  // An evictable() storage of this device, or none if there is no such; `bytes` are wanted at least.
  virtual StorageId victim(std::uint8_t device, std::size_t bytes) = 0;
  // Whether what it has just named is better written out than dropped, where both can be done and there is no copy yet.
  virtual bool prefers_writing(StorageId) { return false; }
  // Of what would be evicted next, up to so many bytes: the first that would be written out, and is not already. Or none.
  virtual StorageId next_to_write(std::uint8_t /*device*/, std::size_t /*bytes*/) { return none; }
  // So many bytes were written out, or read back.
  virtual void moved(std::size_t, double /*seconds*/, bool /*written*/) {}
  // Whether something that was recomputed on the way to something else will be wanted again.
  virtual bool expects_use(StorageId id) = 0;
};

}  // namespace regrow::machine
