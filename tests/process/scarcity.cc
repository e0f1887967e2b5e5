// SPDX-License-Identifier: Apache-2.0
#include "tests/process/scarcity.h"

#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "regrow/regrow.h"

namespace rg = regrow;

namespace {
thread_local bool allocations_fail = false;
}

// Fails on request.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocations_fail ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
}
void* operator new(std::size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

// Bytes that the process has, by a line of /proc/self/status.
std::size_t status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == name + ":") return status >> word, std::stoul(word) * 1024;
  return 0;
}

bool limit(int resource, std::size_t bytes) {
  rlimit now{};
  if (getrlimit(resource, &now) != 0) return false;
  now.rlim_cur = bytes == 0 ? now.rlim_max : bytes;
  return setrlimit(resource, &now) == 0;
}

rg::Handle numbers(rg::Channel& channel, std::int64_t count) {
  return channel.apply_op(rg::op("full", {{"shape", rg::Dims{count}}, {"value", rg::Scalar(1.5)}}), {}).at(0);
}

// Prints the error that the wait throws; it must be no OutOfBudget, whose smallest budget would help nobody.
bool is_refused(rg::Channel& channel, rg::Handle handle) {
  try {
    channel.wait(handle);
  } catch (const rg::OutOfBudget&) {
    return false;
  } catch (const rg::AsyncError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return true;
  }
  return false;
}

}  // namespace

// B002, B038: the worker fails outside of any operation's own code. Whoever waits, now or later, is told; other channels live on.
int worker_fails() {
  {
    rg::Channel channel;
    const rg::Handle x = channel.put(rg::HostArray::from(std::vector<float>(64, 2.f), {64}));
    channel.wait(x);
    const rg::Handle y = channel.apply_op(rg::callback_op("callback", [](std::span<const rg::HostArray> in) {
      std::vector<rg::HostArray> out(in.begin(), in.end());
      allocations_fail = true;
      return out;
    }), {x}).at(0);
    std::vector<std::thread> waiters;
    std::atomic<int> told = 0;
    for (int t = 0; t < 5; ++t) {
      waiters.emplace_back([&] {
        try {
          for (int i = 0; i < 10'000; ++i) channel.get_value(channel.apply_op(rg::op("exp"), {y}).at(0));
        } catch (const std::exception&) {
          ++told;
        }
      });
    }
    for (std::thread& waiter : waiters) waiter.join();
    if (told != 5) return 1;
    for (int i = 0; i < 2; ++i) {
      try {
        channel.wait(x);
        return 2;
      } catch (const std::exception& error) {
        if (i == 0) std::fprintf(stderr, "%s\n", error.what());
      }
    }
  }
  rg::Channel another;
  const rg::Handle x = another.put(rg::HostArray::from(std::vector<float>(64, 2.f), {64}));
  return another.get_value(another.apply_op(rg::op("add"), {x, x}).at(0)).to_vector<float>()[7] == 4.f ? 0 : 3;
}

// The system gives the arena no more pages, though no budget is in the way: one operation fails, and the engine goes on.
int system_refuses_pages() {
  rg::Channel channel(rg::Options{.lookahead = 0, .enable_drop = 1, .enable_swap = 1});
  const rg::Handle x = numbers(channel, 1 << 22), y = channel.apply_op(rg::op("negative"), {x}).at(0);
  channel.wait(y);
  channel.drop(y);
  channel.set_memory_budget(20 << 20);  // gives what is free back
  channel.set_memory_budget(std::size_t{1} << 40);
  if (!limit(RLIMIT_DATA, status_bytes("VmData") + (8 << 20))) return 1;
  if (!is_refused(channel, numbers(channel, 1 << 26))) return 2;
  const rg::Handle put = channel.put(rg::HostArray::from(std::vector<float>(1 << 19, 2.f), {1 << 19}));
  channel.wait(put);  // 2 MiB are there
  if (!is_refused(channel, channel.apply_op(rg::op("add"), {x, x}).at(0))) return 3;
  try {
    channel.get_dev_tensor(y);  // would have to be computed again
    return 4;
  } catch (const rg::AsyncError& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  channel.sync();
  limit(RLIMIT_DATA, 0);
  if (channel.get_value(y).to_vector<float>()[5] != -1.5f) return 5;
  channel.wait(numbers(channel, 1 << 26));
  return channel.get_value(channel.apply_op(rg::op("add"), {put, put}).at(0)).to_vector<float>()[9] == 4.f ? 0 : 6;
}

// Nor any addresses for an arena that is needed now.
int system_refuses_addresses() {
  rg::Channel old(rg::Options{}), channel(rg::Options{});
  const rg::Handle x = numbers(old, 1000);
  old.wait(x);
  if (!limit(RLIMIT_AS, status_bytes("VmSize") + (64 << 20))) return 1;
  channel.set_memory_budget(std::size_t{1} << 30);
  if (!is_refused(channel, numbers(channel, 1000))) return 2;
  if (!is_refused(old, old.apply_op(rg::op("copy_to", {{"device", rg::Device(1)}}), {x}).at(0))) return 3;
  old.wait(old.apply_op(rg::op("negative"), {x}).at(0));
  limit(RLIMIT_AS, 0);
  channel.wait(numbers(channel, 1000));
  return channel.memory().budget_bytes == std::size_t{1} << 30 ? 0 : 4;
}
