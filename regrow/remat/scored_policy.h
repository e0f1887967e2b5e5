// SPDX-License-Identifier: Apache-2.0
// A policy that evicts what has the lowest score: the cost of having it again for each byte, over the time since its last use or until
// its next. What a storage's score is, is the derived class's. One thread.
#pragma once

#include <memory>
#include <vector>

#include "regrow/machine/policy.h"
#include "regrow/remat/candidates.h"
#include "regrow/remat/cost_table.h"
#include "regrow/remat/lineage.h"
#include "regrow/remat/transfer_cost.h"

namespace regrow::remat {

class ScoredPolicy : public machine::Policy {
 public:
  // `exact`: compares all storages at each eviction, as published simulators do.
  ScoredPolicy(double alpha, bool exact) : alpha_(alpha), exact_(exact) {}

  void attach(const Graph& graph) override;
  void issued(std::uint64_t key, std::span<const StorageId> inputs, std::span<const StorageId> outputs) override;
  double ran(std::uint64_t key, double seconds, bool regrow) override;
  void entered(StorageId id) override;
  void left(StorageId id) override;
  void used(StorageId id) override;
  void erased(StorageId id) override;
  StorageId victim(std::uint8_t device, std::size_t bytes) override;
  bool expects_use(StorageId) override { return true; }
  StorageId next_to_write(std::uint8_t device, std::size_t bytes) override;
  bool prefers_writing(StorageId id) override { return transfer_seconds(id) < regrow_seconds(id); }
  void moved(std::size_t bytes, double seconds, bool written) override {
    clock_ += seconds;
    transfers_.moved(bytes, seconds, written);
  }

 protected:
  virtual Standing judge(StorageId id) = 0;
  // What it would take to compute it again.
  virtual double regrow_seconds(StorageId id) { return own_cost(id); }
  // What it takes to have it again: computed, or, where it can be spilled, written and read back, if that is less.
  double cost(StorageId id);
  virtual double foretold_now() const noexcept { return 0; }
  void set_alpha(double alpha) noexcept { alpha_ = alpha; }

  const Graph& graph() const noexcept { return *graph_; }
  const machine::Storage& storage(StorageId id) const noexcept { return (*graph_)[id]; }
  double own_cost(StorageId id) const noexcept { return storage(id).recipe == none ? 0 : graph_->recipe(storage(id).recipe).seconds; }
  double clock() const noexcept { return clock_; }  // seconds of operators, recomputations included, and of transfers
  const TransferCost& transfers() const noexcept { return transfers_; }
  double last_use(StorageId id) const noexcept { return last_use_[id]; }
  void judge_again(StorageId id);  // before the next choice

 private:
  double transfer_seconds(StorageId id) const noexcept;
  Candidates& candidates(std::uint8_t device);
  void judge_waiting();
  StorageId lowest_of_all(std::uint8_t device);

  const Graph* graph_ = nullptr;
  double alpha_;
  bool exact_;
  double clock_ = 0;
  CostTable costs_;
  TransferCost transfers_;
  std::vector<double> last_use_;      // by storage
  std::vector<StorageId> waiting_;    // to be judged
  std::vector<bool> waits_;
  std::vector<std::unique_ptr<Candidates>> candidates_;  // by device
};

}  // namespace regrow::remat
