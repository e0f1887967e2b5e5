// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/matmul.h"

#include <algorithm>
#include <cstring>

#include "regrow/kernels/convert.h"
#include "regrow/kernels/dnnl_matmul.h"
#include "regrow/kernels/element_types.h"
#include "regrow/kernels/elementwise.h"
#include "regrow/kernels/gemm.h"
#include "regrow/kernels/parts.h"
#include "regrow/kernels/workspace.h"
#include "regrow/tensor/walk.h"

namespace regrow::kernels {
namespace {

// Below this many multiply-adds, counted in whole panels, the engine's own product beats oneDNN, which needs 0.4 us to begin (a cube
// of 32: 0.7 of its time, of 64: 1.2).
constexpr std::int64_t tiny = 40'000, panel_columns = 32;
constexpr std::int64_t least_depth = 256;  // of a part, where threads share the inner axis
constexpr double least_per_part = 1 << 21;
constexpr int any_parts = 1 << 20;
// A transposed left side is copied, so that threads can share its rows, where each element is worth this many multiply-adds.
constexpr std::int64_t worth_copying = 256;

// One operand of the batch of products, where the product reads it.
struct Operand {
  Desc desc;      // of the original, with both matrix axes
  Strides batch;  // strides of the batch axes, 0 where it repeats
  std::int64_t row = 0, col = 0;
  bool copied = false;  // into the workspace, dense, as the type that is computed in
};

struct Problem {
  DType dtype = DType::f32;  // computed in
  std::int64_t m = 0, n = 0, k = 0;
  Shape batch;
  Operand a, b;
  Strides c_batch;       // of the result, which is dense
  bool rounded = false;  // the result is computed in another type than it is stored in
  int parts = 1;
  bool by_depth = false;  // threads share the inner axis, and what they get is added up
  bool onednn = false;
  std::size_t scratch = 0;  // of oneDNN, for each part
  std::int64_t macs() const { return element_count(batch) * m * n * k; }
  std::int64_t padded_macs() const { return element_count(batch) * m * ((n + panel_columns - 1) / panel_columns * panel_columns) * k; }
};

enum class Side { left, right };

// A vector as a matrix: a row on the left, a column on the right.
Desc as_matrix(const Desc& desc, Side side) {
  Desc matrix = desc;
  if (desc.shape.size() != 1) return matrix;
  const std::size_t at = side == Side::left ? 0 : 1;
  matrix.shape.insert(at, 1);
  matrix.strides.insert(at, at == 0 ? desc.shape[0] : 1);
  return matrix;
}

// Dense matrices only.
bool onednn_reads(const Operand& x, std::int64_t rows, std::int64_t columns) {
  return (x.col == 1 && x.row == columns) || (x.row == 1 && x.col == rows);
}

// The strides of the last two axes; an axis of length 1 gets the stride that suits.
void set_strides(Operand& x, const Strides& strides, std::int64_t rows, std::int64_t columns) {
  x.row = strides[strides.size() - 2];
  x.col = strides.back();
  if (columns == 1 && x.col != 1) {
    if (x.row == 1) x.col = std::max<std::int64_t>(rows, 1);
    else x.col = 1;
  }
  if (rows == 1) x.row = x.col == 1 ? std::max<std::int64_t>(columns, 1) : 1;
}

void place(Operand& x, const Shape& batch, std::int64_t rows, std::int64_t columns) {
  const Strides strides = x.copied ? contiguous_strides(x.desc.shape) : x.desc.strides;
  set_strides(x, strides, rows, columns);
  Shape own = x.desc.shape;
  Strides own_strides = strides;
  for (int i = 0; i < 2; ++i) own.erase(own.size() - 1), own_strides.erase(own_strides.size() - 1);
  x.batch = broadcast_strides(own, own_strides, batch);
}

// Neighbouring batch axes become one where all three operands step alike; rows of A absorb the batch if B has none.
void merge_batch(Problem& p) {
  auto drop = [&](std::size_t i) { p.batch.erase(i), p.a.batch.erase(i), p.b.batch.erase(i), p.c_batch.erase(i); };
  for (std::size_t i = p.batch.size(); i-- > 0;)
    if (p.batch[i] == 1) drop(i);
  for (std::size_t i = p.batch.size(); i-- > 1;) {
    const std::int64_t inner = p.batch[i];
    if (p.a.batch[i - 1] != p.a.batch[i] * inner || p.b.batch[i - 1] != p.b.batch[i] * inner ||
        p.c_batch[i - 1] != p.c_batch[i] * inner)
      continue;
    p.batch[i] *= p.batch[i - 1];
    drop(i - 1);
  }
  if (!p.batch.empty() && p.b.batch.back() == 0 && p.a.col == 1 && p.a.batch.back() == p.m * p.a.row &&
      p.c_batch.back() == p.m * p.n) {
    p.m *= p.batch.back();
    drop(p.batch.size() - 1);
  }
}

// Whether oneDNN has products of this type on this processor does not depend on the sizes.
bool onednn_has(DType dtype) {
  auto ask = [](DType type) {
    return dnnl::plan_matmul({.dtype = type, .m = 32, .n = 32, .k = 32, .a_row = 32, .b_row = 32, .c_row = 32}).available;
  };
  static const bool f32 = ask(DType::f32), bf16 = ask(DType::bf16);
  return dtype == DType::f32 ? f32 : dtype == DType::bf16 && bf16;
}

DType computed_in(DType stored) {
  if (stored == DType::f16 || (stored == DType::bf16 && !onednn_has(stored))) return DType::f32;
  return stored;
}

dnnl::MatmulProblem matrix_of(const Problem& p, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {.dtype = p.dtype,
          .batch = 1,
          .m = m,
          .n = n,
          .k = k,
          .a_row = p.a.row,
          .a_col = p.a.col,
          .b_row = p.b.row,
          .b_col = p.b.col,
          .c_row = p.n};
}

// The work of one thread: some of the products, or a range of rows or columns of each.
struct Part {
  std::int64_t first = 0, products = 0;
  std::int64_t row = 0, rows = 0;
  std::int64_t column = 0, columns = 0;
  std::int64_t inner = 0, depth = 0;
  bool empty() const { return products == 0 || rows == 0 || columns == 0; }
};

Part part_of(const Problem& p, int index) {
  const int parts = p.parts;
  const std::int64_t products = element_count(p.batch);
  Part part{0, products, 0, p.m, 0, p.n, 0, p.k};
  auto range = [&](std::int64_t count, std::int64_t step, std::int64_t& first, std::int64_t& length) {
    first = cut(count, parts, index, step);
    length = cut(count, parts, index + 1, step) - first;
  };
  if (p.by_depth) range(p.k, 64, part.inner, part.depth);
  else if (products >= 2 * parts || products == parts) range(products, 1, part.first, part.products);
  else if (p.onednn || p.m >= p.n) range(p.m, 16, part.row, part.rows);  // oneDNN writes dense results only
  else range(p.n, 32, part.column, part.columns);
  return part;
}

// Of one product threads can share rows alone, and only if the left side's rows are dense; or the inner axis, if it is long: the
// gradient of a weight is such a product.
void share_rows(Problem& p) {
  const std::int64_t products = element_count(p.batch);
  if (p.parts == 1 || p.a.col == 1 || products >= 2 * p.parts || products == p.parts) return;
  const int by_depth = static_cast<int>(std::min<std::int64_t>(p.parts, p.k / std::max(least_depth, std::min(p.m, p.n) / 2)));
  if (p.dtype == DType::f32 && products == 1 && p.b.col == 1 && by_depth > 1) p.by_depth = true, p.parts = by_depth;
  else if (p.n < worth_copying) p.parts = 1;
  else p.a.copied = true, place(p.a, p.batch, p.m, p.k);
}

// Whether oneDNN does all parts, with how much scratch.
bool plan_onednn(Problem& p) {
  p.onednn = true;  // parts are cut for it
  for (int i = 0; i < p.parts && p.onednn; ++i) {
    const Part part = part_of(p, i);
    if (part.empty()) continue;
    const dnnl::MatmulPlan plan = dnnl::plan_matmul(matrix_of(p, part.rows, part.columns, part.depth));
    p.onednn = plan.available;
    p.scratch = std::max(p.scratch, plan.scratch);
  }
  if (!p.onednn) p.scratch = 0;
  return p.onednn;
}

Problem problem_in(DType dtype, const Desc& a, const Desc& b, const Desc& out, int most_parts) {
  Problem p;
  p.dtype = dtype;
  p.rounded = p.dtype != out.dtype;
  p.a.desc = as_matrix(a, Side::left), p.b.desc = as_matrix(b, Side::right);
  const Shape& left = p.a.desc.shape;
  const Shape& right = p.b.desc.shape;
  p.m = left[left.size() - 2], p.k = left.back(), p.n = right.back();
  p.batch = out.shape;
  if (a.shape.size() != 1) p.batch.erase(p.batch.size() - 1);
  if (b.shape.size() != 1) p.batch.erase(p.batch.size() - 1);
  p.c_batch = contiguous_strides(p.batch);
  for (std::int64_t& stride : p.c_batch) stride *= p.m * p.n;

  const bool vector_times_matrix = p.m == 1 && element_count(p.batch) == 1 && p.dtype == DType::f32;
  const bool may_use_onednn =
      p.k > 0 && onednn_has(p.dtype) && (p.dtype == DType::bf16 || (p.padded_macs() > tiny && !vector_times_matrix));
  for (Operand* x : {&p.a, &p.b}) {
    x->copied = x->desc.dtype != p.dtype;
    const std::int64_t rows = x == &p.a ? p.m : p.k, columns = x == &p.a ? p.k : p.n;
    place(*x, p.batch, rows, columns);
    if (!x->copied && may_use_onednn && !onednn_reads(*x, rows, columns)) x->copied = true, place(*x, p.batch, rows, columns);
  }
  p.parts = std::min(parts_for(static_cast<double>(p.macs()), least_per_part), most_parts);
  if (may_use_onednn) share_rows(p);
  merge_batch(p);
  if (may_use_onednn && p.macs() > 0 && !plan_onednn(p) && p.by_depth) p.by_depth = false, p.parts = 1;
  return p;
}

// bf16 where oneDNN does not take it (an inner size of 0, strides) is f32's work: the engine has no product of its own for it.
Problem problem_of(const Desc& a, const Desc& b, const Desc& out, int most_parts) {
  Problem p = problem_in(computed_in(out.dtype), a, b, out, most_parts);
  return p.dtype == DType::bf16 && !p.onednn ? problem_in(DType::f32, a, b, out, most_parts) : p;
}

std::size_t result_bytes(const Problem& p) {
  return static_cast<std::size_t>(element_count(p.batch) * p.m * p.n) * size_of(p.dtype);
}

std::byte* take_scratch(const Problem& p, Workspace& workspace, int wanted) {
  std::byte* found = nullptr;
  for (int i = 0; i < p.parts; ++i) {
    std::byte* scratch = workspace.take(p.scratch);
    if (i == wanted) found = scratch;
  }
  return found;
}

std::size_t workspace_of(const Problem& p) {
  Workspace workspace;
  for (const Operand* x : {&p.a, &p.b})
    if (x->copied) workspace.take(static_cast<std::size_t>(x->desc.count()) * size_of(p.dtype));
  if (p.rounded) workspace.take(result_bytes(p));
  for (int i = 1; p.by_depth && i < p.parts; ++i) workspace.take(result_bytes(p));
  take_scratch(p, workspace, 0);
  return workspace.used();
}

const std::byte* dense_operand(const Operand& x, const std::byte* data, DType dtype, Workspace& workspace) {
  if (!x.copied) return data;
  const Desc dense = Desc::dense(dtype, x.desc.shape);
  std::byte* copy = workspace.take(static_cast<std::size_t>(dense.count()) * size_of(dtype));
  convert({&x.desc, const_cast<std::byte*>(data)}, {&dense, copy});
  return copy;
}

// Integers: rows of B are added up, so that the innermost loop runs along them. Unsigned arithmetic wraps.
template <class T>
void integer_product(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  using U = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
  for (std::int64_t i = 0; i < m; ++i) {
    T* row = c.data + i * c.row;
    std::fill_n(row, n, T(0));
    for (std::int64_t l = 0; l < k; ++l) {
      const U x = static_cast<U>(a.data[i * a.row + l * a.col]);
      const T* from = b.data + l * b.row;
      for (std::int64_t j = 0; j < n; ++j) row[j] = static_cast<T>(static_cast<U>(row[j]) + x * static_cast<U>(from[j * b.col]));
    }
  }
}

template <class T>
void product(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c) {
  if constexpr (std::is_floating_point_v<T>) gemm(m, n, k, a, b, c);
  else integer_product<T>(m, n, k, a, b, c);
}

template <class F>
void with_computed_type(DType dtype, F&& f) {
  if (is_integer(dtype)) return with_integer(dtype, f);
  if (dtype == DType::f64) return f(double{});
  f(float{});
}

struct Addresses {
  const std::byte* a = nullptr;
  const std::byte* b = nullptr;
  std::byte* c = nullptr;
};

void run_product(const Problem& p, const Part& part, const Addresses& at, std::byte* scratch) {
  const auto size = static_cast<std::int64_t>(size_of(p.dtype));
  const std::byte* a = at.a + (part.row * p.a.row + part.inner * p.a.col) * size;
  const std::byte* b = at.b + (part.column * p.b.col + part.inner * p.b.row) * size;
  std::byte* c = at.c + (part.row * p.n + part.column) * size;
  if (p.onednn) return dnnl::run_matmul(matrix_of(p, part.rows, part.columns, part.depth), a, b, c, scratch);
  with_computed_type(p.dtype, [&]<class T>(T) {
    product<T>(part.rows, part.columns, part.depth, {reinterpret_cast<const T*>(a), p.a.row, p.a.col},
               {reinterpret_cast<const T*>(b), p.b.row, p.b.col}, {reinterpret_cast<T*>(c), p.n, 1});
  });
}

void run_part(const Problem& p, const Part& part, const Addresses& at, std::byte* scratch) {
  if (part.empty()) return;
  const auto size = static_cast<std::int64_t>(size_of(p.dtype));
  std::int64_t index = 0;
  walk<3>(p.batch, {p.a.batch, p.b.batch, p.c_batch}, [&](std::int64_t a, std::int64_t b, std::int64_t c) {
    if (index >= part.first && index < part.first + part.products)
      run_product(p, part, {at.a + a * size, at.b + b * size, at.c + c * size}, scratch);
    ++index;
  });
}

}  // namespace

std::size_t matmul_workspace(const Desc& a, const Desc& b, const Desc& out) {
  return out.count() == 0 ? 0 : workspace_of(problem_of(a, b, out, any_parts));
}

void matmul(const View& a, const View& b, const View& out, std::span<std::byte> bytes) {
  if (out.count() == 0) return;
  Problem p = problem_of(*a.desc, *b.desc, *out.desc, any_parts);
  // The number of threads may have been raised since the workspace was measured.
  while (p.parts > 1 && workspace_of(p) > bytes.size()) p = problem_of(*a.desc, *b.desc, *out.desc, p.parts - 1);

  Workspace workspace(bytes);
  Addresses at;
  at.a = dense_operand(p.a, a.data, p.dtype, workspace);
  at.b = dense_operand(p.b, b.data, p.dtype, workspace);
  const Desc result = Desc::dense(p.dtype, out.shape());
  at.c = p.rounded ? workspace.take(result.bytes()) : out.data;
  std::byte* sums = nullptr;  // of the second part and those that follow
  for (int i = 1; p.by_depth && i < p.parts; ++i) {
    std::byte* sum = workspace.take(result_bytes(p));
    if (i == 1) sums = sum;
  }
  const std::size_t apart = (result_bytes(p) + Workspace::alignment - 1) / Workspace::alignment * Workspace::alignment;
  for_parts(p.parts, [&](int index) {
    Workspace scratch = workspace;
    Addresses own = at;
    if (p.by_depth && index > 0) own.c = sums + apart * static_cast<std::size_t>(index - 1);
    run_part(p, part_of(p, index), own, take_scratch(p, scratch, index));
  });
  for (int i = 1; p.by_depth && i < p.parts; ++i) {
    const View sum{&result, at.c}, in[] = {sum, {&result, sums + apart * static_cast<std::size_t>(i - 1)}};
    run_tile(binary(Binary::add, p.dtype), in, sum);
  }
  if (p.rounded) convert({&result, at.c}, out);
}

}  // namespace regrow::kernels
