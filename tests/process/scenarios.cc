// SPDX-License-Identifier: Apache-2.0
// Ways for a program that uses the engine to end. `process_scenarios NAME` runs one; exit codes and what must stand on the output
// are in ending_test.cc.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "regrow/regrow.h"
#include "tests/no_leak_check.h"
#include "tests/process/scarcity.h"

namespace rg = regrow;

namespace {

using namespace std::chrono_literals;

// Destroyed after main, in an order that no one should have to know.
rg::Tensor global_tensor;
std::vector<rg::Tensor> global_tensors;
std::optional<rg::Channel> global_channel;
rg::Handle global_handle;
thread_local rg::Tensor thread_tensor;

// Work that takes the worker a while: `steps` matrix products in a chain.
rg::Tensor long_chain(int steps, std::int64_t size = 384) {
  rg::Tensor x = rg::ones({size, size});
  for (int i = 0; i < steps; ++i) x = rg::matmul(x, x) * 1e-3f;
  return x;
}

rg::Tensor failing_take() { return rg::take(rg::ones({3}), rg::tensor({0, 99}), {.axis = 0}); }

rg::Op callback(std::function<void()> body) {
  return rg::callback_op("callback", [body = std::move(body)](std::span<const rg::HostArray> in) {
    body();
    return std::vector<rg::HostArray>(in.begin(), in.end());
  });
}

int say(const char* text) {
  std::printf("%s\n", text);
  std::fflush(stdout);
  return 0;
}

int pending_work() {
  global_tensor = long_chain(100);
  return 0;
}

int pending_work_of_a_channel() {
  rg::Channel channel;
  rg::Handle x = channel.put(rg::HostArray::from(std::vector<float>(256 * 256, 1.f), {256, 256}));
  for (int i = 0; i < 100; ++i) x = channel.apply_op(rg::op("matmul"), {x, x}).at(0);
  return 0;
}

int nothing_at_all() { return 0; }

int global_tensors_outlive_main() {
  for (int i = 0; i < 100; ++i) global_tensors.push_back(rg::exp(rg::ones({100})));
  global_tensor = rg::sum(global_tensors.front());
  thread_tensor = global_tensor + 1;
  std::thread([] { thread_tensor = rg::ones({10}) * 2; }).join();
  new rg::Tensor(global_tensor);  // never destroyed
  return global_tensor.item<float>() > 0 ? 0 : 1;
}

int global_channel_outlives_main() {
  global_channel.emplace();
  global_handle = global_channel->put(rg::HostArray::from(std::vector<float>{1, 2}, {2}));
  for (int i = 0; i < 1000; ++i) global_handle = global_channel->apply_op(rg::op("negative"), {global_handle}).at(0);
  return 0;
}

int create_a_channel_last() {
  static rg::Channel* const channel = new rg::Channel;  // left to the system
  channel->put(rg::HostArray::from(std::vector<float>{1}, {1}));
  rg::Channel another;
  return 0;
}

int exit_while_a_callback_runs() {
  rg::apply(callback([] {
              say("inside");
              std::this_thread::sleep_for(300ms);
            }),
            {rg::ones({2})});
  std::this_thread::sleep_for(50ms);
  std::exit(3);
}

// As libraries do that an operator uses for the first time.
int static_objects_made_while_main_returns() {
  static std::atomic<bool> inside, gone;
  struct Table {
    ~Table() { gone = true; }
  };
  rg::apply(callback([] {
              static const Table table;
              inside = true;
              std::this_thread::sleep_for(200ms);
              if (gone) std::abort();
            }),
            {rg::ones({2})});
  while (!inside) std::this_thread::sleep_for(1ms);
  return 0;
}

int exit_inside_a_callback() {
  rg::Tensor result = rg::apply(callback([] { std::exit(3); }), {rg::ones({2})}).at(0);
  result.wait();
  return 1;  // not reached
}

int exit_while_a_callback_throws() {
  rg::apply(callback([] {
              std::this_thread::sleep_for(100ms);
              throw std::runtime_error("the callback's own words");
            }),
            {rg::ones({2})});
  std::exit(3);
}

int exit_in_a_handler_of_a_callback_error() {
  try {
    rg::apply(callback([] { throw std::runtime_error("the callback's own words"); }), {rg::ones({2})}).at(0).wait();
  } catch (const rg::AsyncError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::exit(4);
  }
  return 1;
}

int throwing_callbacks() {
  for (int i = 0; i < 200; ++i) {
    rg::Tensor result = rg::apply(callback([i] {
                                    if (i % 2) throw i;  // not even a std::exception
                                    throw std::runtime_error("own words");
                                  }),
                                  {rg::ones({2})})
                            .at(0);
    try {
      result.wait();
      return 1;
    } catch (const rg::AsyncError&) {
    }
  }
  rg::sync();
  return rg::sum(rg::ones({4})).item<float>() == 4.f ? 0 : 1;
}

int untold_error() {
  global_tensor = failing_take();
  return 0;
}

int untold_error_of_a_channel() {
  rg::Channel channel;
  const rg::Handle x = channel.put(rg::HostArray::from(std::vector<float>{1, 2, 3}, {3}));
  const rg::Handle index = channel.put(rg::HostArray::from(std::vector<std::int64_t>{99}, {1}));
  channel.apply_op(rg::op("take", {{"axis", std::int64_t{0}}}), {x, index});
  return 0;
}

int uncaught_error() {
  rg::matmul(rg::ones({3, 4}), rg::ones({5, 6}));
  return 0;
}

int worker_error_closes_the_channel() {
  rg::Channel channel(rg::Options{.catch_worker_exception = 0});
  const rg::Handle x = channel.put(rg::HostArray::from(std::vector<float>{1, 2, 3}, {3}));
  const rg::Handle index = channel.put(rg::HostArray::from(std::vector<std::int64_t>{99}, {1}));
  const rg::Handle bad = channel.apply_op(rg::op("take", {{"axis", std::int64_t{0}}}), {x, index}).at(0);
  for (int i = 0; i < 2; ++i) {
    try {
      i == 0 ? channel.wait(bad) : channel.wait(x);
      return 1;
    } catch (const rg::Error& error) {
      if (std::string(error.what()).find("take") == std::string::npos) return 2;
    }
  }
  return 0;
}

// The child may not use the engine, and says so; parent and child both end.
int fork_and_use(bool busy) {
  rg::Tensor x = busy ? long_chain(50) : rg::ones({4});
  if (!busy) x.wait();
  const pid_t child = fork();
  if (child == 0) {
    int code = 1;
    try {
      rg::sum(x + 1).item<float>();
    } catch (const rg::Error& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
      code = 5;
    }
    x = rg::Tensor();
    std::exit(code);  // with handlers and destructors
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status)) return 100 + WTERMSIG(status);
  x.wait();  // the parent goes on
  return WEXITSTATUS(status);
}

int fork_when_idle() { return fork_and_use(false); }
int fork_when_busy() { return fork_and_use(true); }

int fork_before_first_use() {
  const pid_t child = fork();
  if (child == 0) return rg::sum(rg::ones({4})).item<float>() == 4.f ? 0 : 1;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

// B023, B024: a pass backward, and the end.
int backward_and_exit() {
  const rg::Tensor x = rg::ones({16}).requires_grad();
  rg::sum(rg::tanh(x * x)).backward();
  return 0;
}

int wait_for_ever() {
  rg::Tensor x = rg::apply(callback([] { std::this_thread::sleep_for(1h); }), {rg::ones({2})}).at(0);
  say("waiting");
  x.wait();
  return 1;
}

int wait_for_long_work() {
  rg::Tensor x = long_chain(4, 64);
  say("waiting");
  for (;;) (x = long_chain(50)).wait();
}

// Threads that are never joined use the engine while main returns.
int threads_issue_while_main_returns() {
  static std::atomic<int> running = 0;
  for (int t = 0; t < 4; ++t) {
    std::thread([] {
      ++running;
      try {
        for (;;) {
          rg::Tensor x = rg::exp(rg::ones({64})) + 1;
          if (x.shape().size() != 1) return;
        }
      } catch (const rg::Error&) {  // the engine has closed
      }
      std::this_thread::sleep_for(1h);
    }).detach();
  }
  while (running < 4) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(20ms);
  return 0;
}

int threads_wait_while_main_returns() {
  static std::atomic<int> running = 0;
  for (int t = 0; t < 4; ++t) {
    std::thread([] {
      try {
        for (;;) {
          long_chain(3, 128).wait();
          ++running;
        }
      } catch (const rg::Error&) {
      }
      std::this_thread::sleep_for(1h);
    }).detach();
  }
  while (running < 8) std::this_thread::sleep_for(1ms);
  return 0;
}

int exit_from_another_thread() {
  std::thread([] {
    std::this_thread::sleep_for(100ms);
    std::exit(6);
  }).detach();
  for (;;) long_chain(5, 128).wait();
}

int close_while_others_wait() {
  rg::Channel channel;
  const rg::Handle x = channel.put(rg::HostArray::from(std::vector<float>{1, 2}, {2}));
  const rg::Handle slow = channel.apply_op(callback([] { std::this_thread::sleep_for(200ms); }), {x}).at(0);
  std::vector<std::thread> waiters;
  for (int t = 0; t < 4; ++t) {
    waiters.emplace_back([&] {
      try {
        channel.wait(slow);
      } catch (const rg::Error&) {
      }
    });
  }
  std::this_thread::sleep_for(50ms);
  channel.close();
  for (std::thread& waiter : waiters) waiter.join();
  return 0;
}

// A callback may not use its channel: a clear error, and no deadlock.
int callback_uses_the_engine() {
  rg::Tensor x = rg::ones({2});
  rg::Tensor result = rg::apply(callback([x] { (x + 1).wait(); }), {x}).at(0);
  try {
    result.wait();
    return 1;
  } catch (const rg::AsyncError& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 0;
}

const std::map<std::string, int (*)()>& scenarios() {
  static const std::map<std::string, int (*)()> all = {
      {"pending_work", pending_work},
      {"pending_work_of_a_channel", pending_work_of_a_channel},
      {"nothing_at_all", nothing_at_all},
      {"global_tensors_outlive_main", global_tensors_outlive_main},
      {"global_channel_outlives_main", global_channel_outlives_main},
      {"create_a_channel_last", create_a_channel_last},
      {"exit_while_a_callback_runs", exit_while_a_callback_runs},
      {"static_objects_made_while_main_returns", static_objects_made_while_main_returns},
      {"exit_inside_a_callback", exit_inside_a_callback},
      {"exit_while_a_callback_throws", exit_while_a_callback_throws},
      {"exit_in_a_handler_of_a_callback_error", exit_in_a_handler_of_a_callback_error},
      {"throwing_callbacks", throwing_callbacks},
      {"untold_error", untold_error},
      {"untold_error_of_a_channel", untold_error_of_a_channel},
      {"uncaught_error", uncaught_error},
      {"worker_error_closes_the_channel", worker_error_closes_the_channel},
      {"fork_when_idle", fork_when_idle},
      {"fork_when_busy", fork_when_busy},
      {"fork_before_first_use", fork_before_first_use},
      {"backward_and_exit", backward_and_exit},
      {"worker_fails", worker_fails},
      {"system_refuses_pages", system_refuses_pages},
      {"system_refuses_addresses", system_refuses_addresses},
      {"wait_for_ever", wait_for_ever},
      {"wait_for_long_work", wait_for_long_work},
      {"threads_issue_while_main_returns", threads_issue_while_main_returns},
      {"threads_wait_while_main_returns", threads_wait_while_main_returns},
      {"exit_from_another_thread", exit_from_another_thread},
      {"close_while_others_wait", close_while_others_wait},
      {"callback_uses_the_engine", callback_uses_the_engine},
  };
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  regrow::ends_in_the_midst = true;
  const auto found = scenarios().find(argc == 2 ? argv[1] : "");
  if (found == scenarios().end()) {
    std::fprintf(stderr, "usage: process_scenarios NAME, one of\n");
    for (const auto& [name, scenario] : scenarios()) std::fprintf(stderr, "  %s\n", name.c_str());
    return 64;
  }
  return found->second();
}
