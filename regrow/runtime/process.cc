// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/process.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace regrow::runtime {
namespace {

std::atomic<std::uint32_t> forks{0};
thread_local bool in_callback = false;

struct Registry {
  std::mutex mutex;
  std::vector<std::weak_ptr<EndsWithProcess>> targets;
  std::atomic<bool> ending{false};
  std::thread::id ending_thread;
};
// Never destroyed; the child of a fork starts with a new one, since the old one may be locked.
std::atomic<Registry*> registry{nullptr};

Registry& the_registry() {
  Registry* found = registry.load(std::memory_order_acquire);
  if (found) return *found;
  auto* fresh = new Registry;
  if (registry.compare_exchange_strong(found, fresh)) return *fresh;
  delete fresh;
  return *found;
}

void after_fork_in_child() {
  forks.fetch_add(1);
  registry.store(nullptr);
  in_callback = false;
}

void end_targets() {
  Registry& all = the_registry();
  std::vector<std::weak_ptr<EndsWithProcess>> targets;
  {
    const std::lock_guard lock(all.mutex);
    targets.swap(all.targets);
    if (!targets.empty()) all.ending_thread = std::this_thread::get_id(), all.ending = true;
  }
  for (auto target = targets.rbegin(); target != targets.rend(); ++target)
    if (const auto alive = target->lock()) alive->end();
}

// exit() destroys the thread's locals before it does anything else. Handlers of atexit can be too late: an operator that runs for
// the first time while main returns may be making static objects, which are younger than every handler.
struct EndsWithMain {
  ~EndsWithMain() { end_targets(); }
};

void end_when_main_returns() {
  if (getpid() != gettid()) return;
  static thread_local const EndsWithMain guard;
  (void)guard;
}

}  // namespace

std::uint32_t fork_count() noexcept { return forks.load(std::memory_order_relaxed); }

bool inside_callback() noexcept { return in_callback; }

CallbackScope::CallbackScope() noexcept : outer_(in_callback) { in_callback = true; }
CallbackScope::~CallbackScope() { in_callback = outer_; }

void end_with_process(const std::shared_ptr<EndsWithProcess>& target) {
  static const bool watching_forks = pthread_atfork(nullptr, nullptr, after_fork_in_child) == 0;
  (void)watching_forks;
  Registry& all = the_registry();
  const std::lock_guard lock(all.mutex);
  std::erase_if(all.targets, [](const auto& known) { return known.expired(); });
  all.targets.push_back(target);
  end_when_main_returns();
  std::atexit(end_targets);
}

void operator_has_run(std::uint32_t operator_index, std::uint32_t type) {
  constexpr std::size_t types = 16, most = 1024 * types;
  static std::atomic<bool> seen[most];
  const std::size_t index = operator_index * types + type;
  if (index >= most || seen[index].load(std::memory_order_relaxed)) [[likely]] return;
  if (!seen[index].exchange(true)) std::atexit(end_targets);
}

bool process_is_ending() noexcept { return the_registry().ending.load(); }

void linger_if_process_is_ending() noexcept {
  if (!process_is_ending() || the_registry().ending_thread == std::this_thread::get_id()) return;
  std::this_thread::sleep_for(std::chrono::seconds(2));
}

}  // namespace regrow::runtime
