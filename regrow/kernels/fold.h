// SPDX-License-Identifier: Apache-2.0
// The inner loops of reductions over dense runs, for every element type, at the best SIMD level of this machine. Re-entrant. Any
// thread.
//
// How elements combine is fixed by their logical index alone, so that a result does not depend on strides, threads or SIMD level:
// a block of fold_block elements goes to fold_lanes lanes (element r to lane r mod fold_lanes, in order of r), the lanes are
// combined by halving (lane j with lane j + w, w = fold_lanes / 2, …, 1), and blocks pairwise as in a binary counter.
#pragma once

#include <cstddef>
#include <cstdint>

#include "regrow/tensor/dtype.h"

namespace regrow::kernels {

enum class Fold : std::uint8_t { sum, prod, max, min, any, all };

inline constexpr std::int64_t fold_block = 1024;
inline constexpr std::int64_t fold_lanes = 16;
inline constexpr std::int64_t fold_rows = 6;  // rows of a lane that are best added together

// The type that a fold accumulates in. Sums and products: integers in u64 (modulo 2^64), 16-bit floating types in f32, f32 and
// f64 in f64; a floating result of integers in f64. max and min: the type itself, f32 for the 16-bit ones. any and all: bool.
DType accumulator_of(Fold fold, DType in, DType out) noexcept;

// Loops for one fold and one pair (element type, accumulator type). All pointers are to dense runs. max and min propagate NaN.
struct FoldLoops {
  void (*identity)(std::int64_t n, void* acc) = nullptr;               // acc[i] = what changes nothing
  void (*assign)(const void* x, std::int64_t n, void* acc) = nullptr;  // acc[i] = x[i], converted
  void (*row)(const void* x, std::int64_t n, void* acc) = nullptr;     // acc[i] = acc[i] o x[i]
  // acc[i] = acc[i] o x[i] o x[step + i] o …, `count` rows; unless null, as many rows from `next` on are fetched meanwhile
  void (*rows)(const void* x, std::int64_t step, std::int64_t count, std::int64_t n, const void* next, void* acc) = nullptr;
  void (*combine)(const void* b, std::int64_t n, void* acc) = nullptr;  // acc[i] = acc[i] o b[i], both accumulators
  void (*block)(const void* x, std::int64_t n, void* acc) = nullptr;    // *acc = fold of x[0 … n), 1 <= n <= fold_block
  // The same, where a long dense run goes on behind x: what follows is fetched meanwhile.
  void (*far_block)(const void* x, std::int64_t n, void* acc) = nullptr;
};
const FoldLoops& fold_loops(Fold fold, DType in, DType accumulator);

}  // namespace regrow::kernels
