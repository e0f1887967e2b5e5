// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/reorder_count.h"

#include <atomic>

namespace regrow::kernels {
namespace {

std::atomic<std::uint64_t> activations = 0, weights = 0;

}  // namespace

ReorderCount reorder_count() noexcept {
  return {activations.load(std::memory_order_relaxed), weights.load(std::memory_order_relaxed)};
}

void count_activation_reorder() noexcept { activations.fetch_add(1, std::memory_order_relaxed); }
void count_weight_reorder() noexcept { weights.fetch_add(1, std::memory_order_relaxed); }

}  // namespace regrow::kernels
