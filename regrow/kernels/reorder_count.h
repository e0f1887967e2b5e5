// SPDX-License-Identifier: Apache-2.0
// How often kernels copied an operand because it does not lie in memory as they read or write it. Activations that stay
// channels-last need none; weights are brought into oneDNN's blocked layout on each call. Any thread.
#pragma once

#include <cstdint>

namespace regrow::kernels {

struct ReorderCount {
  std::uint64_t activations = 0;  // images, results and their gradients
  std::uint64_t weights = 0;
};
ReorderCount reorder_count() noexcept;  // since the process began

void count_activation_reorder() noexcept;
void count_weight_reorder() noexcept;

}  // namespace regrow::kernels
