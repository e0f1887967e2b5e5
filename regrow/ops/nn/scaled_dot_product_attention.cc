// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/attention.h"
#include "regrow/ops/elementwise.h"
#include "regrow/ops/var.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  check_attention_dtypes(in[0], in[1], in[2]);
  require(in.size() <= 4, "takes one mask, not {}", in.size() - 3);
  if (in.size() > 3) check_mask_dtype(in[3], in[0]);
  out[0] = in[0], out[1] = attention_sum_dtype(in[0]);
}

// The axes of the result lie as those of the queries: heads that were split off by a view can be merged by one.
void infer(const InferCall& call) {
  check_attention(call[0], call[1], call[2], call.in.size() > 3 ? call.in[3] : nullptr, call.attrs);
  call.out[0].shape = rows_shape(call[0]);
  call.out[0].shape.push_back(call[2].shape.back());
  call.out[0].strides = dense_strides_like(call.out[0].shape, call[0].shape, call[0].strides);
  call.out[1].shape = rows_shape(call[0]);
  call.out[1].strides = contiguous_strides(call.out[1].shape);
}

void compute(const ComputeCall& call) {
  kernels::attention(attention_of(call.in.first(3), call.in.size() > 3 ? &call.in[3] : nullptr, call.attrs, call.random),
                     call.out[0], call.out[1], call.workspace);
}

Cost cost(const CostCall& call) {
  Cost cost;
  const double keys = static_cast<double>(call.in[1]->shape[call.in[1]->shape.size() - 2]);
  const double width = static_cast<double>(call.in[1]->shape.back() + call.in[2]->shape.back());
  cost.flops = 2 * static_cast<double>(element_count(rows_shape(*call.in[0]))) * keys * width;
  for (const Desc* desc : call.in) cost.bytes += static_cast<double>(desc->bytes());
  for (const Desc* desc : call.out) cost.bytes += static_cast<double>(desc->bytes());
  return cost;
}

Var transposed(Var x) {
  const int rank = x.recorder->desc(x).shape.rank();
  Dims axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i < rank - 2 ? i : 2 * rank - 3 - i);
  return op<"permute_dims">({x}, {{"axes", axes}});
}

Var as_type(Var x, DType dtype) { return x.recorder->desc(x).dtype == dtype ? x : op<"cast">({x}, {{"dtype", dtype}}); }

Var arange(Recorder& recorder, std::int64_t n, Var like) {
  const regrow::Op applied = regrow::op("arange", {{"start", Scalar(0)},
                                                   {"stop", Scalar(n)},
                                                   {"step", Scalar(1)},
                                                   {"dtype", DType::i64},
                                                   {"device", recorder.desc(like).device}});
  Var out;
  recorder.call(applied, {}, {}, {&out, 1});
  return out;
}

// The gradient in operators that have gradients themselves: all scores at once.
class Composed {
 public:
  explicit Composed(Gradient& g) : g_(g), type_(g.in_desc(0).dtype), scale_(attention_scale(g.attrs(), g.in_desc(0))) {
    rows_ = rows_shape(g.in_desc(0));
    rows_.push_back(1);
  }

  void give() {
    const Var q = g_.in(0), k = g_.in(1), v = g_.in(2);
    const Var weights = this->weights(q, k);
    Var flows;  // to the weights
    if (g_.has_grad(0)) {
      const Var used = dropped(weights);
      if (g_.wants(2)) g_.set(2, op<"matmul">(transposed(used), g_.grad(0)));
      const Var means = op<"sum">({g_.grad(0) * g_.out(0)}, {{"axis", Axes{-1}}, {"keepdims", true}});
      flows = weights * (dropped(op<"matmul">(g_.grad(0), transposed(v))) - means);
    }
    if (g_.has_grad(1)) {
      const Var more = weights * as_type(op<"reshape">({g_.grad(1)}, {{"shape", rows_}}), type_);
      flows = flows ? flows + more : more;
    }
    if (g_.wants(0)) g_.set(0, op<"matmul">(flows, k) * Scalar(scale_));
    if (g_.wants(1)) g_.set(1, op<"matmul">(transposed(flows), q) * Scalar(scale_));
    if (g_.input_count() > 3) elementwise::give(g_, 3, flows);
  }

 private:
  Var scalar(double value, DType dtype) { return g_.recorder().constant(value, dtype, g_.in(0)); }

  // Where a row sees nothing its logarithm is -inf, and so are its scores.
  Var weights(Var q, Var k) {
    const Var nothing = scalar(-std::numeric_limits<double>::infinity(), type_);
    Var scores = op<"matmul">(q, transposed(k)) * Scalar(scale_);
    if (g_.input_count() > 3) {
      const Var mask = g_.in(3);
      scores = g_.in_desc(3).dtype == DType::boolean ? op<"where">(mask, scores, nothing) : scores + mask;
    }
    if (g_.attrs().get<bool>("causal")) {
      const std::int64_t queries = g_.in_desc(0).shape[g_.in_desc(0).shape.size() - 2];
      const std::int64_t keys = g_.in_desc(1).shape[g_.in_desc(1).shape.size() - 2];
      const Var query = op<"reshape">({arange(g_.recorder(), queries, q)}, {{"shape", Shape{queries, 1}}});
      scores = op<"where">(op<"greater_equal">(query, arange(g_.recorder(), keys, q)), scores, nothing);
    }
    const Var sums = op<"reshape">({g_.out(1)}, {{"shape", rows_}});
    const Var finite = op<"where">(op<"isfinite">(sums), sums, scalar(0, attention_sum_dtype(type_)));
    return op<"exp">(scores - as_type(finite, type_));
  }

  Var dropped(Var x) {
    const double p = g_.attrs().get<double>("dropout");
    return p == 0 ? x : op<"dropout">({x}, {{"p", p}}, g_.random());
  }

  Gradient& g_;
  DType type_;
  double scale_;
  Shape rows_;
};

void gradient(Gradient& g) {
  const bool composed = g.recorded() || g.has_grad(1) || (g.input_count() > 3 && g.wants(3));
  if (composed) return Composed(g).give();
  const Op gradient_op = regrow::op(
      "scaled_dot_product_attention_gradient",
      {{"causal", g.attrs().value("causal")}, {"scale", g.attrs().value("scale")}, {"dropout", g.attrs().value("dropout")}});
  Var in[7] = {g.grad(), g.in(0), g.in(1), g.in(2), g.out(0), g.out(1), {}}, out[3];
  const std::size_t count = 3 + g.input_count();
  if (g.input_count() > 3) in[6] = g.in(3);
  g.recorder().call(gradient_op, {in, count}, g.random(), out);
  for (std::size_t i = 0; i < 3; ++i)
    if (g.wants(i)) g.set(i, out[i]);
}

}  // namespace

OpDef scaled_dot_product_attention() {
  const std::vector<AttrArg> causal = {{"causal", true}}, scaled = {{"scale", 0.5}};
  return {
      .doc =
          "softmax(scale q k^T + mask) v for queries (…, L, D), keys (…, S, D) and values (…, S, E), in blocks: memory grows "
          "with L "
          "and S, not with their product. A mask broadcasts to (…, L, S): booleans, true where i may see j, or numbers to add. "
          "A query that sees nothing gives 0. The second result is the logarithm of the sum of each row's exponentials.",
      .inputs = {"q", "k", "v", "mask..."},
      .attributes = attention_attributes(),
      .outputs = {"out", "log_sum"},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = [](const CostCall& call) { return kernels::attention_workspace(*call.in[0], *call.in[1], *call.in[2]); },
      .cost = cost,
      .replay = Replay::seeded,
      .autocasts = true,
      .gradient = gradient,
      .saves_inputs = 0b1111,
      .saves_outputs = 0b11,
      .samples = {{.inputs = {{2, 3, 4}, {2, 5, 4}, {2, 5, 3}}},
                  {.inputs = {{5, 2}, {5, 2}, {5, 3}}, .attrs = causal},
                  {.inputs = {{1, 2, 3, 2}, {1, 2, 4, 2}, {1, 2, 4, 2}, {3, 4}},
                   .attrs = scaled,
                   .dtypes = {DType::f32, DType::f32, DType::f32, DType::boolean},
                   .low = 0.5},
                  {.inputs = {{2, 3, 2}, {2, 4, 2}, {2, 4, 2}, {2, 1, 4}}},
                  {.inputs = {{2, 3, 2}, {2, 4, 2}, {2, 4, 2}}, .attrs = {{"dropout", 0.25}, {"causal", true}}}},
  };
}

}  // namespace regrow::ops
