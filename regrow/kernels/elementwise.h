// SPDX-License-Identifier: Apache-2.0
// Vector kernels for one element at a time: what tiles are computed with. Pure functions; which instructions they use is chosen
// once, by what the processor has. Any thread.
//
// Values follow NumPy: integers wrap, integer division by zero gives 0, // and % follow the sign rules of Python, maximum and
// minimum propagate NaN. Floating to integer saturates, and NaN becomes 0: in every lane, on every processor.
#pragma once

#include <cstdint>

#include "regrow/kernels/tile.h"

namespace regrow::kernels {

enum class Unary : std::uint8_t {
  // Of every numeric type.
  negative,
  abs,
  square,
  sign,
  relu,
  floor,
  ceil,
  round,
  trunc,
  // Of f32 and f64.
  sqrt,
  reciprocal,
  exp,
  expm1,
  log,
  log1p,
  sin,
  cos,
  tanh,
  erf,
  sigmoid,
  gelu,
  gelu_tanh,
  silu,
  // Of every type, giving booleans.
  is_nan,
  is_inf,
  is_finite,
  logical_not
};

enum class Binary : std::uint8_t {
  // Of every numeric type; add, multiply, maximum and minimum of booleans too: or, and, or, and.
  add,
  subtract,
  multiply,
  maximum,
  minimum,
  floor_divide,
  remainder,
  power,
  // Of f32 and f64.
  divide,
  // (gradient, the function's value) -> gradient of its argument; of f32 and f64.
  relu_gradient,
  tanh_gradient,
  sigmoid_gradient,
  sqrt_gradient,
  // (gradient, argument) -> gradient of the argument; of f32 and f64.
  gelu_gradient,
  gelu_tanh_gradient,
  silu_gradient,
  // Of every type, giving booleans.
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  logical_and,
  logical_or,
  logical_xor
};

// The kernel for operands of type `type`, which for f16 and bf16 is f32 and two conversions; `fn` is null where there is none.
TileKernel unary(Unary f, DType type);
TileKernel binary(Binary f, DType type);
// condition ? a : b, all elements of `type` copied bit by bit.
TileKernel select(DType type);
// From one element type to another; f16 and bf16 are rounded once, to nearest even.
TileKernel convert(DType from, DType to);

// The type that a kernel computes in.
constexpr DType compute_type(DType type) noexcept { return type == DType::f16 || type == DType::bf16 ? DType::f32 : type; }

}  // namespace regrow::kernels
