// SPDX-License-Identifier: Apache-2.0
// Whether warm steps ask the system for anything: heap on the worker, mappings, the break, page faults. The main thread.
#pragma once

#include <gtest/gtest.h>
#include <regrow/regrow.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>

#include "regrow/kernels/dnnl_primitive.h"
#include "tests/stress/malloc_counter.h"

namespace regrow {

inline long minor_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

inline std::string mappings() {
  std::ifstream file("/proc/self/maps");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Ten steps, then the loss is read, as trainers do; so the caller runs ten steps ahead at most.
inline void ten_steps(const std::function<Tensor()>& step) {
  Tensor loss;
  for (int i = 0; i < 10; ++i) loss = step();
  loss.wait();
}

// Once the worker sleeps while ten steps are issued: after that, no other timing holds more commands or tensors at once.
inline void run_far_ahead(const std::function<Tensor()>& step) {
  const Op nap = callback_op("nap",
                             [](std::span<const HostArray>) {
                               std::this_thread::sleep_for(std::chrono::milliseconds(300));
                               return std::vector<HostArray>{};
                             },
                             {.outputs = std::vector<CallbackOutput>{}});
  apply(nap, {});
  ten_steps(step);
}

// What 100 steps asked the system for; empty if nothing.
inline std::string asked_in_a_hundred_steps(const std::function<Tensor()>& step) {
  const std::string maps_before = mappings();
  mappings();
  const void* break_before = sbrk(0);
  const long faults_before = minor_faults();
  stress::excuse_allocations(kernels::dnnl::running);  // decision 007
  stress::count_allocations(true);
  for (int i = 0; i < 10; ++i) ten_steps(step);
  sync();
  stress::count_allocations(false);
  const long faults = minor_faults() - faults_before;
  const std::string maps_after = mappings();
  std::string asked;
  if (const auto count = stress::allocations_elsewhere(); count != 0)
    asked += std::to_string(count) + " heap allocations on the worker; ";
  if (sbrk(0) != break_before) asked += "the break moved; ";
  if (faults >= 100) asked += std::to_string(faults) + " page faults; ";
  if (maps_after != maps_before) asked += "mappings changed, before:\n" + maps_before + "after:\n" + maps_after;
  return asked;
}

// A buffer may find its final size late: how far callers and worker are apart is up to the scheduler. So the state is steady when
// one hundred steps in a row ask for nothing; what leaks asks in every hundred.
inline void expect_nothing_asked(const std::function<Tensor()>& step) {
  std::string asked;
  for (int hundred = 0; hundred < 30; ++hundred) {
    run_far_ahead(step);
    asked = asked_in_a_hundred_steps(step);
    if (hundred > 0 && asked.empty()) return;
  }
  ADD_FAILURE() << asked;
}

}  // namespace regrow
