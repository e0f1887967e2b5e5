// SPDX-License-Identifier: Apache-2.0
// What elementwise operators share, so that an operator's file holds just its documentation and its gradient. Any thread.
//
// Types: inputs are promoted to one type; functions that leave the integers (exp, divide, …) give f32 for integers and booleans;
// arithmetic takes no booleans unless it says so. Shapes broadcast. Outputs are dense, in the order in which the axes of the
// first input that has the full shape lie in memory.
#pragma once

#include "regrow/kernels/elementwise.h"
#include "regrow/ops/op.h"
#include "regrow/ops/var.h"

namespace regrow::elementwise {

// Shape and strides of output 0, as above.
void infer(const InferCall& call);

// `dtypes` of the families: the promoted type, …
void any_type(std::span<const DType> in, const Attrs& attrs, std::span<DType> out);
void numeric(std::span<const DType> in, const Attrs& attrs, std::span<DType> out);   // … not of booleans
void floating(std::span<const DType> in, const Attrs& attrs, std::span<DType> out);  // … f32 for what is not floating
void boolean(std::span<const DType> in, const Attrs& attrs, std::span<DType> out);   // … or bool, whatever comes in

DType promoted(std::span<const DType> in) noexcept;
inline DType floating_type(DType type) noexcept { return is_floating(type) ? type : DType::f32; }

// The gradient of input i: `grad` summed over broadcast axes, in the input's type. Nothing if nobody wants it.
void give(Gradient& g, std::size_t i, Var grad);
// Of functions that are constant almost everywhere: nothing flows back.
inline void give_nothing(Gradient&) {}

enum class Types : std::uint8_t { any, numeric, floating };

// Kernels for the promoted type, or for the floating one that follows from it.
template <kernels::Unary F, Types T>
kernels::TileKernel unary_tile(std::span<const DType> in, const Attrs&) {
  return kernels::unary(F, T == Types::floating ? floating_type(in[0]) : in[0]);
}
template <kernels::Binary F, Types T>
kernels::TileKernel binary_tile(std::span<const DType> in, const Attrs&) {
  const DType type = promoted(in);
  return kernels::binary(F, T == Types::floating ? floating_type(type) : type);
}

template <kernels::Unary F, Types T>
OpDef unary(std::string_view doc) {
  return {.doc = doc,
          .inputs = {"x"},
          .dtypes = T == Types::any       ? any_type
                    : T == Types::numeric ? numeric
                                          : floating,
          .infer = infer,
          .tile = unary_tile<F, T>,
          .samples = {{.inputs = {{2, 3}}}, {.inputs = {Shape{}}}, {.inputs = {{0, 3}}}}};
}

// One input of any type, a boolean out.
template <kernels::Unary F>
OpDef classification(std::string_view doc) {
  OpDef def = unary<F, Types::any>(doc);
  def.dtypes = boolean;
  return def;
}

std::vector<Sample> binary_samples(double low = -2, double high = 2);

template <kernels::Binary F, Types T>
OpDef binary(std::string_view doc) {
  return {.doc = doc,
          .inputs = {"a", "b"},
          .dtypes = T == Types::any       ? any_type
                    : T == Types::numeric ? numeric
                                          : floating,
          .infer = infer,
          .tile = binary_tile<F, T>,
          .samples = binary_samples()};
}

// Two inputs of any types, compared as their promoted type, a boolean out.
template <kernels::Binary F>
OpDef comparison(std::string_view doc) {
  OpDef def = binary<F, Types::any>(doc);
  def.dtypes = boolean;
  return def;
}

}  // namespace regrow::elementwise
