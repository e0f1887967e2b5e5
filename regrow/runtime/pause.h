// SPDX-License-Identifier: Apache-2.0
// The processor's hint for spin loops (some 40 ns here). Any thread.
#pragma once

namespace regrow::runtime {

inline void pause() noexcept { __builtin_ia32_pause(); }

}  // namespace regrow::runtime
