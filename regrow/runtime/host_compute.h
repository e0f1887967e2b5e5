// SPDX-License-Identifier: Apache-2.0
// Small values that are known on the host are computed there, with the operators' own kernels. Any thread.
#pragma once

#include <span>
#include <vector>

#include "regrow/ops/var.h"
#include "regrow/tensor/host_array.h"

namespace regrow::runtime {

inline constexpr std::int64_t most_host_elements = 32;

// False: the shapes of its inputs are all that it needs, so that nothing is computed again, or read back, for its sake.
inline bool reads_values(const OpRecord& record) { return &record != &record_of<"shape_of">(); }

// Fills `values` with the outputs, row-major. `in` may be empty arrays for an operator that reads descriptors only; `out` is what was
// inferred for `descs`. False: it failed, and should be issued, so that the error is what it would have been there.
bool compute_on_host(const Op& op, std::span<const HostArray* const> in, std::span<const Desc* const> descs,
                     std::span<const OutDesc> out, std::vector<HostArray>& values);

}  // namespace regrow::runtime
