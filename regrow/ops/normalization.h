// SPDX-License-Identifier: Apache-2.0
// What the normalizations share: attributes, types, shapes, and the gradient of their gradients. Any thread.
#pragma once

#include <functional>

#include "regrow/ops/op.h"
#include "regrow/ops/var.h"

namespace regrow {

// epsilon (default 1e-5).
AttrSpec epsilon_attribute();
double epsilon_of(const Attrs& attrs);
// groups and epsilon.
std::vector<AttrSpec> group_attributes();
std::int64_t group_count(const Attrs& attrs, const Desc& x);  // throws Error if the channels do not fall into them

// The result has the type of x, whatever floating type the others have.
void normalized_dtype(std::span<const DType> in, const Attrs& attrs, std::span<DType> out);
// Of gradients (grad, x, weight, …): the types of x, weight, and weight again if there is a third.
void normalized_gradient_dtypes(std::span<const DType> in, const Attrs& attrs, std::span<DType> out);

// x (N, C, …) and tables (C,) behind it; the result lies as x does. Throws Error if they do not fit.
void infer_channel_norm(const InferCall& call, std::size_t x, std::size_t first_table);
// x and tables with the shape of its last axes.
void infer_row_norm(const InferCall& call, std::size_t x, std::size_t first_table);
// out[0] like `in[like]` in shape and order of axes.
void describe_like(const InferCall& call, std::size_t like, std::size_t out = 0);
// Three passes over the operands, more or less.
Cost normalization_cost(const CostCall& call);

// All outputs of an operator with several.
template <FixedString Name, std::size_t N>
std::array<Var, N> op_all(std::initializer_list<Var> in, std::initializer_list<AttrArg> attrs) {
  std::array<Var, N> out;
  const OpRecord& record = record_of<Name>();
  const Op applied(record, Attrs(record.name, record.attributes, {attrs.begin(), attrs.size()}));
  in.begin()->recorder->call(applied, {in.begin(), in.size()}, {}, out);
  return out;
}

Var cast_to(Var x, DType dtype);                                                // x itself if it has the type
Var filled(Recorder& recorder, double value, const Desc& like, Var device_of);  // a constant of this shape and type
// A table (C,) as (1, C, 1, …) in the type of `x`, and the sums of such a tensor over all axes but that of the channels.
Var as_channels(Var table, const Desc& x);
Var sum_of_channels(Var x, const Desc& table);

// The pieces of normalized = (x - mean) factor, out = normalized weight + bias.
struct Normalization {
  Var normalized, factor;           // that broadcast against x
  std::function<Var(Var)> project;  // the gradient of x from that of `normalized`
  std::function<Var(Var)> mean;     // over what shares its statistics, in a shape that broadcasts against x
  std::function<Var(Var)> spread;   // a table in a shape that broadcasts against x
  std::function<Var(Var)> gather;   // sums over all that shares an element of the table, in its type
};

// The rule of the operators (grad, x, weight) -> (gradient of x, of weight and, if there is one, of bias).
void normalization_second_gradient(Gradient& g, const Normalization& n);

}  // namespace regrow
