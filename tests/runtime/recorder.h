// SPDX-License-Identifier: Apache-2.0
// An observer that keeps all it sees, for tests. Any thread.
#pragma once

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "regrow/events/event.h"
#include "regrow/tensor/desc.h"

namespace regrow {

// An event with its texts and ids copied.
struct Seen {
  Event event;
  std::string name, detail;
  std::vector<std::uint64_t> inputs, outputs, deletes;
  Shape shape;
  std::thread::id thread;
};

class Recorder : public Observer {
 public:
  void on_event(const Event& event) override {
    const std::lock_guard lock(mutex_);
    Seen seen{event, std::string(event.name), std::string(event.detail), {}, {}, {}, {}, std::this_thread::get_id()};
    seen.inputs.assign(event.inputs.begin(), event.inputs.end());
    seen.outputs.assign(event.outputs.begin(), event.outputs.end());
    seen.deletes.assign(event.deletes.begin(), event.deletes.end());
    if (event.desc) seen.shape = event.desc->shape;
    events_.push_back(std::move(seen));
  }
  std::vector<Seen> all() {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  std::vector<Seen> of(EventKind kind) {
    std::vector<Seen> found;
    for (const Seen& seen : all())
      if (seen.event.kind == kind) found.push_back(seen);
    return found;
  }
  std::size_t count(EventKind kind) { return of(kind).size(); }

 private:
  std::mutex mutex_;
  std::vector<Seen> events_;
};

}  // namespace regrow
