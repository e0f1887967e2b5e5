// SPDX-License-Identifier: Apache-2.0
// One driver for every elementwise operation: it walks outputs in L1-sized tiles and runs a list of kernels on each, so that
// broadcasting, strides, element types and fusion are solved once. Re-entrant. Any thread.
//
// An element's bits depend on its operands alone: a tail goes through the same vector code as a full tile, and each step rounds
// to its own element type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "regrow/tensor/view.h"

namespace regrow::kernels {

inline constexpr std::size_t tile_size = 1024;  // elements
inline constexpr int max_tile_inputs = 3;

// out[i] = f(in[0][i], in[1][i], …) for i < n, n any number. Buffers are dense and hold their operand's element type, aligned to
// one element; nothing outside [0, n) is read or written. `out` may be the very buffer of an operand whose elements are as large.
using TileFn = void (*)(const void* const* in, void* out, std::size_t n);

// How one elementwise operation computes, for given operand types.
struct TileKernel {
  TileFn fn = nullptr;                            // null: not available for these types
  std::array<DType, max_tile_inputs> operands{};  // inputs are converted to these on the way into a tile
  DType result = DType::f32;                      // what fn writes; converted to the output's type on the way out
};

// A straight-line program over tiles. Registers 0 … inputs-1 are the program's inputs; step k writes register inputs + k, rounded
// to `dtype`. `outputs` names the registers that are stored.
struct TileStep {
  TileKernel kernel;
  DType dtype = DType::f32;  // of the step's value: what an unfused run would have stored
  int arity = 0;
  std::array<std::uint16_t, max_tile_inputs> args{};
};

struct TileProgram {
  std::uint16_t inputs = 0;
  std::vector<TileStep> steps;
  std::vector<std::uint16_t> outputs;
};

// Runs the program. Inputs broadcast to the outputs' common shape, whatever their strides and types; an output whose type is not
// its register's is converted. Fastest where outputs are dense in one common axis order; other strides are scattered to. An
// output may be the very storage of an input that has the same strides and element size.
void run_tiles(const TileProgram& program, std::span<const View> in, std::span<const View> out);
// One step, without building a program.
void run_tile(const TileKernel& kernel, std::span<const View> in, const View& out);

}  // namespace regrow::kernels
