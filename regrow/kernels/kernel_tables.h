// SPDX-License-Identifier: Apache-2.0
// The files that hold vector kernels, as elementwise.cc sees them: each returns null for what it does not have. Any thread.
#pragma once

#include "regrow/kernels/elementwise.h"

namespace regrow::kernels {

// `type` is never f16 or bf16.
TileFn find_arithmetic(Unary f, DType type);
TileFn find_arithmetic(Binary f, DType type);
TileFn find_comparison(Binary f, DType type);
TileFn find_classification(Unary f, DType type);
TileFn find_transcendental(Unary f, DType type);
TileFn find_activation(Unary f, DType type);
TileFn find_activation(Binary f, DType type);
TileFn find_select(std::size_t element_size);
TileFn find_conversion(DType from, DType to);

}  // namespace regrow::kernels
