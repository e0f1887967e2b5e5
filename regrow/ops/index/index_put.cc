// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/several_indices.h"
#include "regrow/ops/shapes.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs& attrs, std::span<DType> out) {
  require(in[0] == in[1], "the value is {}, not {}", name_of(in[1]), name_of(in[0]));
  for (DType indices : in.subspan(2)) require_index_type(indices);
  if (attrs.get<bool>("accumulate")) check_addable(in[0]);
  out[0] = in[0];
}

void infer(const InferCall& call) {
  const Desc& x = call[0];
  (void)strides_broadcast_to(call[1], parts_of(x, call.in.subspan(2), call.attrs).region());  // checks
  infer_like(x, call.out[0]);
}

void put(const ComputeCall& call, const ScatterTarget& target) {
  const std::span<const View> indices = call.in.subspan(2);
  const IndexedParts parts = parts_of(*target.sum.desc, indices, call.attrs);
  parts.locate(target.sum, indices, "index", target.indices);
  Desc region = *call.in[1].desc;
  region.shape = parts.region();
  region.strides = strides_broadcast_to(*call.in[1].desc, region.shape);
  const View value{&region, call.in[1].data};
  call.attrs.get<bool>("accumulate") ? add_parts(parts, value, target.indices, target.sum)
                                     : put_parts(parts, value, target.indices, target.sum);
}

std::size_t index_bytes(const ComputeCall& call) {
  const Desc* descs[max_rank] = {};
  for (std::size_t i = 2; i < call.in.size(); ++i) descs[i - 2] = call.in[i].desc;
  return offset_bytes(*call.in[0].desc, {descs, call.in.size() - 2}, call.attrs);
}

void compute(const ComputeCall& call) {
  if (call.attrs.get<bool>("accumulate")) return scatter(call, index_bytes(call), put);
  kernels::copy(call.in[0], call.out[0]);
  put(call, {reinterpret_cast<std::int64_t*>(call.workspace.data()), call.out[0]});
}

std::size_t workspace(const CostCall& call) {
  const std::size_t bytes = offset_bytes(*call.in[0], call.in.subspan(2), call.attrs);
  return call.attrs.get<bool>("accumulate") ? scatter_workspace(*call.in[0], bytes) : bytes;
}

// Of several values for one place the last one counts: what flows back goes to that one alone. Each value leaves its number where
// it is put, and whoever finds his own is the last.
Var of_last(Gradient& g, Var grad) {
  const Desc* descs[max_rank] = {};
  for (std::size_t i = 2; i < g.input_count(); ++i) descs[i - 2] = &g.in_desc(i);
  const IndexedParts parts = parts_of(g.in_desc(0), {descs, g.input_count() - 2}, g.attrs());
  Shape places;
  Dims axes;
  std::vector<Var> in = {g.recorder().constant(0, DType::i64, grad),
                         op<"reshape">({counting(element_count(parts.index), grad)}, {{"shape", parts.index}})};
  for (std::size_t i = 0; i < parts.axes.size(); ++i) {
    places.push_back(g.in_desc(0).shape[static_cast<std::size_t>(parts.axes[i])]);
    axes.push_back(static_cast<std::int64_t>(i));
    in.push_back(g.in(i + 2));
  }
  in[0] = op<"broadcast_to">({in[0]}, {{"shape", places}});
  const Var numbers = in[1];
  const auto call = [&](const OpRecord& record) {
    const AttrArg attrs[] = {{"axes", axes}};
    Var out;
    g.recorder().call(Op(record, Attrs(record.name, record.attributes, attrs)), in, {}, {&out, 1});
    return out;
  };
  in[1] = call(record_of<"index_put">());
  in.erase(in.begin());
  Var last = op<"equal">(call(record_of<"index_get">()), numbers);
  Shape lead = parts.index;
  for (std::size_t i = parts.at; i < parts.rest.size(); ++i) lead.push_back(1);
  last = op<"reshape">({last}, {{"shape", lead}});
  return op<"where">(last, grad, g.recorder().constant(0, g.in_desc(1).dtype, grad));
}

void gradient(Gradient& g) {
  const bool accumulate = g.attrs().get<bool>("accumulate");
  if (g.wants(0)) {
    const Var zero = g.recorder().constant(0, g.in_desc(0).dtype, g.grad());
    g.set(0, accumulate ? g.grad() : indexed<"index_put">(g, {g.grad(), zero}, 2));
  }
  if (!g.wants(1)) return;
  const Var taken = indexed<"index_get">(g, {g.grad()}, 2);
  g.set(1, sum_to(accumulate ? taken : of_last(g, taken), g.in_desc(1).shape));
}

}  // namespace

OpDef index_put() {
  std::vector<AttrSpec> attributes = index_attributes();
  attributes.push_back({.name = "accumulate",
                        .type = AttrType::boolean,
                        .fallback = false,
                        .doc = "Whether to add the values to what is there: repeated places add up, in row-major order."});
  return {
      .doc =
          "x with the parts that index_get would give replaced by `value`, which broadcasts to them. Where a place is named more "
          "than once the last value, row-major, counts, and the gradient goes to it alone.",
      .inputs = {"x", "value", "indices..."},
      .attributes = std::move(attributes),
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .fails_by_value = true,
      .gradient = gradient,
      .saves_inputs = ~std::uint32_t{3},
      .samples = {{.inputs = {{3, 4}, {5}, {5}, {5}},
                   .attrs = {{"axes", Dims{0, 1}}},
                   .dtypes = {DType::f64, DType::f64, DType::i64, DType::i32},
                   .low = -3,
                   .high = 2},
                  {.inputs = {{2, 3, 4}, {3, 1}, {3}, {3}},
                   .attrs = {{"axes", Dims{0, 2}}, {"at", 1}},
                   .dtypes = {DType::f64, DType::f64, DType::i64, DType::u8},
                   .low = 0,
                   .high = 1},
                  {.inputs = {{4, 2}, {}, {6}},
                   .attrs = {{"axes", Dims{0}}},
                   .dtypes = {DType::f64, DType::f64, DType::i64},
                   .low = -2,
                   .high = 2},
                  {.inputs = {{3, 4}, {5, 4}, {5}},
                   .attrs = {{"axes", Dims{0}}, {"accumulate", true}},
                   .dtypes = {DType::f64, DType::f64, DType::i64},
                   .low = -3,
                   .high = 2}},
  };
}

}  // namespace regrow::ops
