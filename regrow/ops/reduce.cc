// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/reduce.h"

#include "regrow/kernels/reduce.h"
#include "regrow/ops/shapes.h"
#include "regrow/tensor/format.h"

namespace regrow {

std::vector<AttrSpec> reduction_attributes() {
  return {{.name = "axis",
           .type = AttrType::axes,
           .fallback = Axes{},
           .doc = "The axes to reduce; negative ones count from the end."},
          {.name = "keepdims", .type = AttrType::boolean, .fallback = false, .doc = "Whether reduced axes stay, with length 1."}};
}

std::vector<AttrSpec> accumulation_attributes() {
  return {{.name = "axis",
           .type = AttrType::axes,
           .fallback = Axes{},
           .doc = "The axes to reduce; negative ones count from the end."},
          {.name = "keepdims", .type = AttrType::boolean, .fallback = false, .doc = "Whether reduced axes stay, with length 1."},
          {.name = "dtype",
           .type = AttrType::dtype,
           .optional = true,
           .doc = "Type of the result, and at least of what accumulates it."}};
}

Dims reduced_axes(const Desc& x, const Attrs& attrs) { return attrs.get<Axes>("axis").resolve(x.shape.rank()); }

std::int64_t reduced_count(const Desc& x, const Dims& axes) {
  std::int64_t count = 1;
  for (std::int64_t axis : axes) count *= x.shape[static_cast<std::size_t>(axis)];
  return count;
}

Shape shape_keeping_axes(const Shape& shape, const Dims& axes) {
  Shape kept = shape;
  for (std::int64_t axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
  return kept;
}

void infer_reduction(const InferCall& call) {
  const Desc& x = call[0];
  const Dims axes = reduced_axes(x, call.attrs);
  OutDesc& out = call.out[0];
  out.shape = shape_keeping_axes(x.shape, axes);
  out.strides = dense_strides_like(out.shape, x.shape, x.strides);
  if (call.attrs.get<bool>("keepdims")) return;
  for (std::size_t k = axes.size(); k-- > 0;) {
    out.shape.erase(static_cast<std::size_t>(axes[k]));
    out.strides.erase(static_cast<std::size_t>(axes[k]));
  }
}

void infer_reduction_of_something(const InferCall& call) {
  infer_reduction(call);
  const Dims axes = reduced_axes(call[0], call.attrs);
  require(call.out[0].count() == 0 || reduced_count(call[0], axes) != 0, "nothing to reduce in {} over the axes {}",
          call[0].shape, axes);
}

void widened_dtype(std::span<const DType> in, const Attrs& attrs, std::span<DType> out) {
  const DType natural = is_floating(in[0]) ? in[0] : is_signed(in[0]) || in[0] == DType::boolean ? DType::i64 : DType::u64;
  out[0] = attrs.has("dtype") ? attrs.get<DType>("dtype") : natural;
  const bool ok = is_floating(out[0]) || (!is_floating(in[0]) && (out[0] == DType::i64 || out[0] == DType::u64));
  require(ok, "{} cannot be accumulated in {}", name_of(in[0]), name_of(out[0]));
}

Var with_kept_axes(Gradient& g, Var reduced) {
  if (g.attrs().get<bool>("keepdims")) return reduced;
  const Desc& x = g.in_desc(0);
  return op<"reshape">({reduced}, {{"shape", shape_keeping_axes(x.shape, reduced_axes(x, g.attrs()))}});
}

Var spread(Gradient& g, Var reduced) { return op<"broadcast_to">({with_kept_axes(g, reduced)}, {{"shape", g.in_desc(0).shape}}); }

namespace {

// Shared equally among the elements that equal the result.
void extreme_gradient(Gradient& g) {
  const DType dtype = g.in_desc(0).dtype;
  const Var chosen = op<"equal">(g.in(0), with_kept_axes(g, g.out()));
  const Var ties = op<"sum">({chosen}, {{"axis", g.attrs().value("axis")}, {"keepdims", true}});
  const Var share = with_kept_axes(g, g.grad()) / op<"cast">({ties}, {{"dtype", dtype}});
  g.set(0, op<"where">(chosen, share, g.recorder().constant(0, dtype, g.grad())));
}

std::vector<Sample> fold_samples() {
  return {{.inputs = {{2, 3}}},
          {.inputs = {{2, 3, 4}}, .attrs = {{"axis", Axes{0, -1}}, {"keepdims", true}}},
          {.inputs = {{5, 40}}, .attrs = {{"axis", Axes{0}}}},
          {.inputs = {{0, 3}}, .attrs = {{"axis", Axes{1}}}},
          {.inputs = {{}}}};
}

}  // namespace

void compute_fold(kernels::Fold fold, const ComputeCall& call) {
  kernels::reduce(fold, call.in[0], reduced_axes(*call.in[0].desc, call.attrs), call.out[0]);
}

void compute_place(kernels::Fold max_or_min, const ComputeCall& call) {
  kernels::arg_reduce(max_or_min, call.in[0], reduced_axes(*call.in[0].desc, call.attrs), call.out[0]);
}

OpDef extreme(std::string_view doc, void (*compute)(const ComputeCall& call)) {
  return {.doc = doc,
          .inputs = {"x"},
          .attributes = reduction_attributes(),
          .dtypes = keep_dtype,
          .infer = infer_reduction_of_something,
          .compute = compute,
          .gradient = extreme_gradient,
          .saves_inputs = 0b1,
          .saves_outputs = 0b1,
          .samples = fold_samples()};
}

OpDef place(std::string_view doc, void (*compute)(const ComputeCall& call)) {
  return {.doc = doc,
          .inputs = {"x"},
          .attributes = reduction_attributes(),
          .dtypes = [](std::span<const DType>, const Attrs&, std::span<DType> out) { out[0] = DType::i64; },
          .infer = infer_reduction_of_something,
          .compute = compute,
          .samples = fold_samples()};
}

OpDef truth(std::string_view doc, void (*compute)(const ComputeCall& call)) {
  OpDef def{.doc = doc,
            .inputs = {"x"},
            .attributes = reduction_attributes(),
            .dtypes = [](std::span<const DType>, const Attrs&, std::span<DType> out) { out[0] = DType::boolean; },
            .infer = infer_reduction,
            .compute = compute,
            .samples = fold_samples()};
  def.samples.push_back({.inputs = {{0, 3}}});
  return def;
}

}  // namespace regrow
