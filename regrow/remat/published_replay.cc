// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/published_replay.h"

#include <algorithm>
#include <vector>

namespace regrow::remat {
namespace {

using machine::EdgeId;
using machine::Graph;
using machine::RecipeId;
using machine::StorageId;
using machine::Where;
using machine::none;

class PublishedReplay {
 public:
  PublishedReplay(const Trace& trace, machine::Policy& policy, std::size_t budget)
      : trace_(trace), policy_(policy), budget_(budget), tensors_(trace.tensors()) {
    policy_.attach(graph_);
  }

  Outcome run() {
    outcome_.own_seconds = trace_.seconds();
    for (const TraceCommand& command : trace_.commands()) {
      if (!carry_out(command)) {
        outcome_.status = Status::infeasible;
        break;
      }
      if (outcome_.seconds > thrash_factor * outcome_.own_seconds) {
        outcome_.status = Status::thrash;
        break;
      }
    }
    return outcome_;
  }

 private:
  struct Tensor {
    StorageId storage = none;
    const TraceCommand* maker = nullptr;
    bool defined = false;
  };
  struct Storage {
    std::uint32_t references = 0;
    std::vector<TensorId> tensors;
    EdgeId last_input = none;
  };
  struct Frame {
    const TraceCommand* operation;
    std::size_t lacking = 0, missing = 0;  // where its inputs begin in lacking_, and how many are still to come
    bool first_run = false;
  };

  bool carry_out(const TraceCommand& command) {
    using Kind = TraceCommand::Kind;
    switch (command.kind) {
      case Kind::put:
        add_storage(command.first, command.bytes);
        tensors_[command.first].defined = true;
        if (!make_room(command.bytes)) return false;
        occupy(tensors_[command.first].storage);
        return true;
      case Kind::apply:
        describe(command);
        push(command, true);
        if (!evaluate()) return false;
        for (TensorId id : trace_.deletes(command)) release(id);
        return true;
      case Kind::release: return release(command.first), true;
      case Kind::want: return bring(command.first);
      case Kind::pin:
        if (!bring(command.first)) return false;
        graph_[tensors_[command.first].storage].exports = 1;
        return true;
    }
    return true;
  }

  StorageId add_storage(TensorId tensor, std::size_t bytes) {
    const StorageId id = graph_.add_storage(bytes, 0);
    storages_.resize(id + std::size_t{1});
    join(tensor, id);
    return id;
  }
  void join(TensorId tensor, StorageId storage) {
    tensors_[tensor].storage = storage;
    storages_[storage].tensors.push_back(tensor);
    ++storages_[storage].references;
  }

  // Storages and what the policy sees of the operation: a recipe for each storage, to which views add their inputs and costs.
  void describe(const TraceCommand& command) {
    TensorId tensor = command.first;
    for (const TraceOutput& output : trace_.outputs(command)) {
      tensors_[tensor].maker = &command;
      StorageId id;
      if (output.view_of >= 0) {
        id = tensors_[trace_.inputs(command)[static_cast<std::size_t>(output.view_of)]].storage;
        join(tensor, id);
        if (!views_already(command, tensor, id)) add_to_recipe(command, id);
      } else {
        id = add_storage(tensor, output.bytes);
        graph_.add_output(graph_.add_recipe(0, 0), id, output.bytes, -1);
        add_to_recipe(command, id);
      }
      ++tensor;
    }
  }
  bool views_already(const TraceCommand& command, TensorId tensor, StorageId id) const {
    const auto same = [&](TensorId each) { return each != tensor && tensors_[each].maker == &command; };
    return std::any_of(storages_[id].tensors.begin(), storages_[id].tensors.end(), same);
  }
  void add_to_recipe(const TraceCommand& command, StorageId id) {
    const RecipeId recipe = graph_[id].recipe;
    if (recipe == none) return;  // a view of a constant
    graph_.recipe(recipe).seconds += command.seconds;
    for (TensorId input : trace_.inputs(command)) {
      const StorageId read = tensors_[input].storage;
      if (read != id) storages_[id].last_input = graph_.add_input(recipe, read, storages_[id].last_input);
    }
  }

  bool bring(TensorId tensor) {
    if (tensors_[tensor].defined) return true;
    push(*tensors_[tensor].maker, false);
    return evaluate();
  }

  void push(const TraceCommand& operation, bool first_run) {
    stack_.push_back({.operation = &operation, .lacking = lacking_.size(), .first_run = first_run});
    for (TensorId input : trace_.inputs(operation)) {
      policy_.used(tensors_[input].storage);
      stack_.back().missing += tensors_[input].defined ? 0 : 1;
    }
    for (TensorId input : trace_.inputs(operation)) {
      if (tensors_[input].defined) ++graph_[tensors_[input].storage].pins;
      else lacking_.push_back(input);
    }
  }

  // What an operation lacks is made in the order of its inputs, and locked as soon as it is there.
  bool evaluate() {
    while (!stack_.empty()) {
      Frame& top = stack_.back();
      if (top.missing > 0) {
        const TensorId input = lacking_[lacking_.size() - top.missing];
        if (!tensors_[input].defined) {
          push(*tensors_[input].maker, false);
          continue;
        }
        ++graph_[tensors_[input].storage].pins;
        if (--top.missing == 0) lacking_.resize(top.lacking);
        continue;
      }
      const Frame frame = top;
      stack_.pop_back();
      if (!run_operation(frame)) return false;
    }
    return true;
  }

  bool run_operation(const Frame& frame) {
    const TraceCommand& operation = *frame.operation;
    const auto outputs = trace_.outputs(operation);
    std::size_t bytes = 0;
    for (const TraceOutput& output : outputs) bytes += output.view_of < 0 ? output.bytes : 0;
    if (!make_room(bytes)) return false;  // outputs that are there already are made, too, and thrown away
    outcome_.peak_bytes = std::max(outcome_.peak_bytes, used_ + bytes);
    outcome_.seconds += operation.seconds;
    outcome_.recomputed += frame.first_run ? 0 : 1;
    policy_.ran(operation.key, operation.seconds, !frame.first_run);
    for (std::uint32_t k = 0; k < outputs.size(); ++k) {
      Tensor& tensor = tensors_[operation.first + k];
      const bool appears = !tensor.defined && outputs[k].view_of < 0;
      tensor.defined = true;
      if (appears) occupy(tensor.storage);
      if (frame.first_run) policy_.used(tensor.storage);
    }
    for (TensorId input : trace_.inputs(operation)) --graph_[tensors_[input].storage].pins;
    return true;
  }

  bool make_room(std::size_t bytes) {
    while (budget_ > 0 && used_ + bytes > budget_) {
      const StorageId id = policy_.victim(0, bytes);
      if (id == none) return false;
      ++outcome_.evictions;
      evict(id);
    }
    return true;
  }

  void occupy(StorageId id) {
    machine::Storage& storage = graph_[id];
    storage.where = Where::memory;
    storage.place.bytes = storage.bytes;
    storage.offered = true;
    used_ += storage.bytes;
    outcome_.peak_bytes = std::max(outcome_.peak_bytes, used_);
    if (storage.recipe != none) policy_.entered(id);
  }

  void evict(StorageId id) {
    machine::Storage& storage = graph_[id];
    storage.where = Where::nowhere;
    storage.place.bytes = 0;
    used_ -= storage.bytes;
    for (TensorId each : storages_[id].tensors) tensors_[each].defined = false;
    policy_.left(id);
  }

  void release(TensorId tensor) {
    const StorageId id = tensors_[tensor].storage;
    const machine::Storage& storage = graph_[id];
    if (--storages_[id].references > 0 || storage.recipe == none || storage.exports > 0) return;
    if (storage.where == Where::memory) evict(id);
  }

  const Trace& trace_;
  machine::Policy& policy_;
  std::size_t budget_, used_ = 0;
  Graph graph_;  // as the policy sees it
  std::vector<Tensor> tensors_;
  std::vector<Storage> storages_;
  std::vector<Frame> stack_;
  std::vector<TensorId> lacking_;  // of all frames
  Outcome outcome_;
};

}  // namespace

Outcome replay_published(const Trace& trace, machine::Policy& policy, std::size_t budget) {
  return PublishedReplay(trace, policy, budget).run();
}

}  // namespace regrow::remat
