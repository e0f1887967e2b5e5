// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/matmul.h"

#include "regrow/ops/op.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  out[0] = promote(in[0], in[1]);
  require(out[0] != DType::boolean, "multiplies numbers, not {}", name_of(out[0]));
}

Shape without_matrix(Shape shape) {
  for (int i = 0; i < 2 && !shape.empty(); ++i) shape.erase(shape.size() - 1);
  return shape;
}

void infer(const InferCall& call) {
  const Shape& a = call[0].shape;
  const Shape& b = call[1].shape;
  require(!a.empty() && !b.empty(), "matmul: a scalar has no rows or columns: {} x {}", a, b);
  const std::int64_t rows_of_b = b.size() == 1 ? b[0] : b[b.size() - 2];
  require(a.back() == rows_of_b, "matmul: inner sizes differ: {} x {}", a, b);
  Shape shape;
  try {
    shape = broadcast_shapes(without_matrix(a), without_matrix(b));
  } catch (const Error&) {
    fail("matmul: leading axes do not broadcast: {} x {}", a, b);
  }
  if (a.size() > 1) shape.push_back(a[a.size() - 2]);
  if (b.size() > 1) shape.push_back(b.back());
  call.out[0].shape = shape;
  call.out[0].strides = contiguous_strides(shape);
}

void compute(const ComputeCall& call) { kernels::matmul(call.in[0], call.in[1], call.out[0], call.workspace); }

std::size_t workspace(const CostCall& call) { return kernels::matmul_workspace(*call.in[0], *call.in[1], *call.out[0]); }

Cost cost(const CostCall& call) {
  Cost cost;
  cost.flops = 2.0 * static_cast<double>(call.out[0]->count()) * static_cast<double>(call.in[0]->shape.back());
  for (const Desc* desc : {call.in[0], call.in[1], call.out[0]})
    cost.bytes += static_cast<double>(desc->count()) * static_cast<double>(size_of(desc->dtype));
  return cost;
}

Var reshaped(Var x, const Shape& shape) {
  return x.recorder->desc(x).shape == shape ? x : op<"reshape">({x}, {{"shape", shape}});
}

Var transposed(Var x) {
  const int rank = x.recorder->desc(x).shape.rank();
  Dims axes;
  for (int i = 0; i < rank; ++i) axes.push_back(i < rank - 2 ? i : 2 * rank - 3 - i);
  return op<"permute_dims">({x}, {{"axes", axes}});
}

// Every leading axis folded into the rows.
Shape flat(const Shape& shape) { return {element_count(without_matrix(shape)) * shape[shape.size() - 2], shape.back()}; }

// The gradient of input i from that of the matrices that it was read as; mixed types were promoted.
void give(Gradient& g, std::size_t i, Var grad, const Shape& matrices) {
  const Desc& in = g.in_desc(i);
  grad = sum_to(grad, matrices);
  if (grad.recorder->desc(grad).dtype != in.dtype) grad = op<"cast">({grad}, {{"dtype", in.dtype}});
  g.set(i, reshaped(grad, in.shape));
}

bool columns_lie_dense(const Desc& x) {
  const std::size_t rank = x.shape.size();
  return rank >= 2 && x.strides[rank - 2] == 1 && x.strides[rank - 1] >= x.shape[rank - 2] && x.shape[rank - 1] > 1;
}

// Both operands and the gradient as matrices or stacks of them; a right operand without a stack meets the left one flattened, so
// that its gradient is one product instead of a sum over the stack.
void gradient(Gradient& g) {
  Shape a = g.in_desc(0).shape, b = g.in_desc(1).shape, out = g.out_desc(0).shape;
  if (b.size() == 1) b.push_back(1), out.push_back(1);
  if (a.size() == 1) a.insert(0, 1), out.insert(out.size() - 1, 1);
  if (b.size() == 2 && a.size() > 2) a = flat(a), out = flat(out);
  const Var grad = reshaped(g.grad(), out);
  if (g.wants(0)) give(g, 0, op<"matmul">(grad, transposed(reshaped(g.in(1), b))), a);
  if (!g.wants(1)) return;
  // In the axis order of b, whose gradient may be added to it: a weight that is read transposed gets contiguous gradients.
  const Var left = reshaped(g.in(0), a);
  give(g, 1, columns_lie_dense(g.in_desc(1)) ? transposed(op<"matmul">(transposed(grad), left)) : op<"matmul">(transposed(left), grad), b);
}

}  // namespace

OpDef matmul() {
  return {
      .doc =
          "The matrix product of a (…, m, k) and b (…, k, n), as matmul of the array API: leading axes broadcast; a vector on "
          "the left "
          "is a row, on the right a column, and its axis is not in the result. f16 and bf16 accumulate in f32, integers wrap "
          "around; a "
          "product over an inner size of 0 is zero.",
      .inputs = {"a", "b"},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .cost = cost,
      .autocasts = true,
      .gradient = gradient,
      .saves_inputs = 0b11,
      .samples = {{.inputs = {{3, 4}, {4, 5}}},
                  {.inputs = {{2, 3, 4}, {4, 5}}},
                  {.inputs = {{2, 1, 3, 4}, {3, 4, 2}}},
                  {.inputs = {{4}, {4}}},
                  {.inputs = {{4}, {2, 4, 3}}},
                  {.inputs = {{2, 3, 4}, {4}}},
                  {.inputs = {{3, 0}, {0, 4}}},
                  {.inputs = {{0, 4}, {4, 2}}}},
  };
}

}  // namespace regrow::ops
