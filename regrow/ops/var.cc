// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/var.h"

namespace regrow {

Var Gradient::saved(std::span<const Var> vars, std::size_t i, const char* what) {
  require(i < vars.size() && vars[i], "a gradient rule reads {} {}, which its record does not save", what, i);
  return vars[i];
}

const OpRecord& record_named(std::string_view name) {
  const OpRecord* record = find_op(name);
  require(record != nullptr, "no operator is named '{}'", name);
  return *record;
}

Var call_op(const OpRecord& record, std::initializer_list<Var> in, std::initializer_list<AttrArg> attrs, RandomState random) {
  const Op applied(record, Attrs(record.name, record.attributes, {attrs.begin(), attrs.size()}));
  Var out;
  in.begin()->recorder->call(applied, {in.begin(), in.size()}, random, {&out, 1});
  return out;
}

Var operator+(Var a, Var b) { return op<"add">(a, b); }
Var operator-(Var a, Var b) { return op<"subtract">(a, b); }
Var operator*(Var a, Var b) { return op<"multiply">(a, b); }
Var operator/(Var a, Var b) { return op<"divide">(a, b); }
Var operator-(Var a) { return op<"negative">(a); }

namespace {

Var literal(Var like, Scalar value) {
  Recorder& recorder = *like.recorder;
  return recorder.constant(value, promote(recorder.desc(like).dtype, value), like);
}

}  // namespace

Var operator+(Var a, Scalar b) { return a + literal(a, b); }
Var operator*(Var a, Scalar b) { return a * literal(a, b); }

Var sum_to(Var grad, const Shape& shape) {
  const Shape from = grad.recorder->desc(grad).shape;
  if (from == shape) return grad;
  const std::size_t shift = from.size() - shape.size();
  Dims axes;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (i < shift || (shape[i - shift] == 1 && from[i] != 1)) axes.push_back(static_cast<std::int64_t>(i));
  Var sum = op<"sum">({grad}, {{"axis", Axes(axes)}, {"keepdims", true}});
  return shift == 0 ? sum : op<"reshape">({sum}, {{"shape", shape}});
}

}  // namespace regrow
