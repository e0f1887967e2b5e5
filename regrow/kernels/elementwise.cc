// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/elementwise.h"

#include "regrow/kernels/kernel_tables.h"

namespace regrow::kernels {

TileKernel unary(Unary f, DType type) {
  const DType compute = compute_type(type);
  if (f >= Unary::is_nan) return {find_classification(f, compute), {compute}, DType::boolean};
  if (f >= Unary::sigmoid) return {find_activation(f, compute), {compute}, compute};
  if (f >= Unary::exp) return {find_transcendental(f, compute), {compute}, compute};
  return {find_arithmetic(f, compute), {compute}, compute};
}

TileKernel binary(Binary f, DType type) {
  const DType compute = compute_type(type);
  if (f >= Binary::equal) return {find_comparison(f, compute), {compute, compute}, DType::boolean};
  if (f >= Binary::gelu_gradient) return {find_activation(f, compute), {compute, compute}, compute};
  return {find_arithmetic(f, compute), {compute, compute}, compute};
}

TileKernel select(DType type) { return {find_select(size_of(type)), {DType::boolean, type, type}, type}; }

TileKernel convert(DType from, DType to) { return {find_conversion(from, to), {from}, to}; }

}  // namespace regrow::kernels
