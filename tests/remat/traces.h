// SPDX-License-Identifier: Apache-2.0
// Small programs of our own, made here: with the shape of training steps.
#pragma once

#include <cstdint>
#include <vector>

#include "regrow/remat/trace.h"

namespace regrow::remat {

inline TensorId run_one(Trace& trace, std::string_view name, std::uint64_t key, double seconds, std::vector<TensorId> inputs,
                        std::uint64_t bytes, std::vector<TensorId> deletes = {}) {
  const TraceOutput output{.bytes = bytes};
  return trace.apply({.name = name, .key = key, .seconds = seconds, .inputs = inputs, .outputs = {&output, 1}, .deletes = deletes});
}

// One step of a network of `layers` layers: forward, loss, backward; gradients of the weights are wanted in the end. Layers differ in
// cost and size.
inline void add_step(Trace& trace, const std::vector<TensorId>& weights, TensorId input, std::uint64_t bytes) {
  const auto layers = static_cast<std::uint32_t>(weights.size());
  std::vector<TensorId> linear, act, grads;
  TensorId at = input;
  for (std::uint32_t i = 0; i < layers; ++i) {
    linear.push_back(run_one(trace, "matmul", 10 + i % 3, (4 + i % 3) * 1e-3, {at, weights[i]}, bytes * (1 + i % 2)));
    at = run_one(trace, "relu", 20 + i % 2, 0.2e-3, {linear.back()}, bytes * (1 + i % 2));
    act.push_back(at);
  }
  TensorId grad = run_one(trace, "loss", 30, 0.1e-3, {at}, bytes);
  for (std::uint32_t i = layers; i-- > 0;) {
    grad = run_one(trace, "relu_grad", 40 + i % 2, 0.3e-3, {grad, linear[i]}, bytes * (1 + i % 2), {grad, linear[i]});
    const TensorId before = i == 0 ? input : act[i - 1];
    grads.push_back(run_one(trace, "matmul_t", 50 + i % 3, 5e-3, {grad, before}, bytes / 4));
    if (i == 0) break;
    grad = run_one(trace, "matmul_b", 60 + i % 3, 5e-3, {grad, weights[i]}, bytes, {grad, act[i]});
  }
  trace.release(act[0]);
  trace.release(grad);
  for (TensorId id : grads) trace.want(id);
  for (TensorId id : grads) trace.release(id);
}

inline Trace training(std::uint32_t layers, int steps, std::uint64_t bytes = 1 << 20) {
  Trace trace;
  std::vector<TensorId> weights;
  for (std::uint32_t i = 0; i < layers; ++i) weights.push_back(trace.put(bytes / 4));
  for (int s = 0; s < steps; ++s) {
    const TensorId input = trace.put(bytes);
    add_step(trace, weights, input, bytes);
    trace.release(input);
  }
  return trace;
}

}  // namespace regrow::remat
