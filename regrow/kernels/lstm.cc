// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/lstm.h"

#include <algorithm>
#include <initializer_list>
#include <type_traits>

#include "regrow/base/error.h"
#include "regrow/kernels/element_types.h"
#include "regrow/kernels/elementwise.h"
#include "regrow/kernels/gemm.h"
#include "regrow/kernels/parts.h"
#include "regrow/kernels/workspace.h"

namespace regrow::kernels {
namespace {

constexpr double least_elements = 1 << 13;  // of gates, that a thread is woken for
constexpr double least_macs = 1 << 18;

// Elementwise loops over a row, in the first cache.
template <class W>
class Loops {
 public:
  explicit Loops(std::int64_t n) : n_(static_cast<std::size_t>(n)) {}
  void sigmoid(const W* x, W* out, std::size_t times = 1) const { apply<Unary::sigmoid>(x, out, times); }
  void tanh(const W* x, W* out) const { apply<Unary::tanh>(x, out, 1); }
  void multiply(const W* a, const W* b, W* out) const { apply<Binary::multiply>(a, b, out); }
  void add(const W* a, const W* b, W* out, std::size_t times = 1) const { apply<Binary::add>(a, b, out, times); }
  void sigmoid_gradient(const W* grad, const W* y, W* out) const { apply<Binary::sigmoid_gradient>(grad, y, out); }
  void tanh_gradient(const W* grad, const W* y, W* out) const { apply<Binary::tanh_gradient>(grad, y, out); }

 private:
  template <Unary F>
  void apply(const W* x, W* out, std::size_t times) const {
    static const TileFn fn = unary(F, dtype_of<W>()).fn;
    const void* in = x;
    fn(&in, out, n_ * times);
  }
  template <Binary F>
  void apply(const W* a, const W* b, W* out, std::size_t times = 1) const {
    static const TileFn fn = binary(F, dtype_of<W>()).fn;
    const void* in[] = {a, b};
    fn(in, out, n_ * times);
  }
  std::size_t n_;
};

// One row of a step; `gates` and `active` may be one.
template <class W>
struct Row {
  const W *gates, *cell;
  W *hidden, *next, *active;
};
template <class W>
void step_row(const Loops<W>& loops, const Row<W>& r, std::int64_t n, W* spare) {
  loops.sigmoid(r.gates, r.active, 2);
  loops.tanh(r.gates + 2 * n, r.active + 2 * n);
  loops.sigmoid(r.gates + 3 * n, r.active + 3 * n);
  loops.multiply(r.active, r.active + 2 * n, spare);
  loops.multiply(r.active + n, r.cell, r.next);
  loops.add(r.next, spare, r.next);
  loops.tanh(r.next, spare);
  loops.multiply(r.active + 3 * n, spare, r.hidden);
}

// `d_cell` may be `d_next`, which may be null.
template <class W>
struct BackRow {
  const W *d_hidden, *d_next, *active, *cell, *next;
  W *d_gates, *d_cell;
};
template <class W>
void back_row(const Loops<W>& loops, const BackRow<W>& r, std::int64_t n, W* spare) {
  const W *input = r.active, *forget = input + n, *candidate = forget + n, *output = candidate + n;
  W *squashed = spare, *flow = spare + n, *d_output = r.d_gates + 3 * n;
  loops.tanh(r.next, squashed);
  loops.multiply(r.d_hidden, squashed, d_output);
  loops.sigmoid_gradient(d_output, output, d_output);
  loops.multiply(r.d_hidden, output, flow);
  loops.tanh_gradient(flow, squashed, flow);
  if (r.d_next) loops.add(flow, r.d_next, flow);
  loops.multiply(flow, candidate, r.d_gates);
  loops.sigmoid_gradient(r.d_gates, input, r.d_gates);
  loops.multiply(flow, r.cell, r.d_gates + n);
  loops.sigmoid_gradient(r.d_gates + n, forget, r.d_gates + n);
  loops.multiply(flow, input, r.d_gates + 2 * n);
  loops.tanh_gradient(r.d_gates + 2 * n, candidate, r.d_gates + 2 * n);
  loops.multiply(flow, forget, r.d_cell);
}

// Row r of a matrix of T as W: where it lies, or in the buffer.
template <class T>
const Wide<T>* read_row(const View& x, std::int64_t r, Wide<T>* buffer) {
  const std::int64_t step = x.strides()[1];
  const T* from = x.as<const T>() + r * x.strides()[0];
  if constexpr (std::is_same_v<T, Wide<T>>)
    if (step == 1) return from;
  for (std::int64_t i = 0; i < x.shape()[1]; ++i) buffer[i] = static_cast<Wide<T>>(from[i * step]);
  return buffer;
}
// Where row r of a contiguous result is computed, and its way from there.
template <class T>
Wide<T>* result_row(const View& x, std::int64_t r, Wide<T>* buffer) {
  if constexpr (std::is_same_v<T, Wide<T>>) return x.as<T>() + r * x.shape()[1];
  return buffer;
}
template <class T>
void store_row(const View& x, std::int64_t r, const Wide<T>* from) {
  if constexpr (!std::is_same_v<T, Wide<T>>)
    for (std::int64_t i = 0; i < x.shape()[1]; ++i) x.as<T>()[r * x.shape()[1] + i] = static_cast<T>(from[i]);
}

template <class W>
struct CellBuffers {
  W *gates, *cell, *hidden, *next, *active, *spare;
  CellBuffers(std::int64_t n, Workspace& w)
      : gates(w.take_array<W>(4 * n)),
        cell(w.take_array<W>(n)),
        hidden(w.take_array<W>(n)),
        next(w.take_array<W>(n)),
        active(w.take_array<W>(4 * n)),
        spare(w.take_array<W>(2 * n)) {}
};

template <class W>
struct CellBackBuffers {
  W *d_hidden, *d_next, *active, *cell, *next, *d_gates, *d_cell, *spare;
  CellBackBuffers(std::int64_t n, Workspace& w)
      : d_hidden(w.take_array<W>(n)),
        d_next(w.take_array<W>(n)),
        active(w.take_array<W>(4 * n)),
        cell(w.take_array<W>(n)),
        next(w.take_array<W>(n)),
        d_gates(w.take_array<W>(4 * n)),
        d_cell(w.take_array<W>(n)),
        spare(w.take_array<W>(2 * n)) {}
};

template <template <class> class Buffers>
std::size_t bytes_a_part(std::int64_t n, DType dtype) {
  Workspace workspace;
  if (dtype == DType::f64)
    Buffers<double>(n, workspace);
  else
    Buffers<float>(n, workspace);
  return workspace.used();
}

// body(first row, last row, workspace) by as many threads as there is workspace for, `each` bytes a thread.
template <class Body>
void for_rows(std::int64_t rows, int parts, std::size_t each, std::span<std::byte> workspace, Body&& body) {
  require(workspace.size() >= each, "the workspace has {} bytes, {} are needed", workspace.size(), each);
  parts = std::min(parts, static_cast<int>(std::min<std::size_t>(workspace.size() / std::max<std::size_t>(each, 1), 1024)));
  for_parts(parts, [&](int index) {
    body(cut(rows, parts, index), cut(rows, parts, index + 1), workspace.subspan(each * static_cast<std::size_t>(index), each));
  });
}

int cell_parts(const Desc& gates) { return parts_for(static_cast<double>(gates.count()), least_elements); }

// gates (T, N, 4H)
struct Sizes {
  std::int64_t steps, rows, width;
  explicit Sizes(const Desc& gates) : steps(gates.shape[0]), rows(gates.shape[1]), width(gates.shape[2] / 4) {}
  int parts() const {
    const double macs = 4.0 * static_cast<double>(steps * rows * width) * static_cast<double>(width);
    return std::min(parts_for(macs, least_macs), static_cast<int>(std::clamp<std::int64_t>(rows, 1, 1024)));
  }
};

template <class W>
void transpose(const W* from, std::int64_t rows, std::int64_t columns, W* to) {
  constexpr std::int64_t together = 16;
  for (std::int64_t i = 0; i < rows; i += together)
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t r = i; r < std::min(i + together, rows); ++r) to[j * rows + r] = from[r * columns + j];
}

template <class W>
void run_sequence(const Lstm& l, const Sizes& s, const W* across, std::int64_t first, std::int64_t last, W* spare) {
  const Loops<W> loops(s.width);
  const std::int64_t n = s.width, rows = last - first;
  const W *hidden = l.first_hidden.as<W>() + first * n, *cell = l.first_cell.as<W>() + first * n;
  for (std::int64_t t = 0; t < s.steps; ++t) {
    const std::int64_t at = t * s.rows + first;
    W *active = l.active.as<W>() + at * 4 * n, *next = l.cells.as<W>() + at * n, *out = l.hidden.as<W>() + at * n;
    const W* gates = l.gates.as<const W>() + at * 4 * n;
    gemm(rows, 4 * n, n, Matrix<const W>{hidden, n, 1}, Matrix<const W>{across, 4 * n, 1}, Matrix<W>{active, 4 * n, 1});
    for (std::int64_t r = 0; r < rows; ++r) {
      W* row = active + r * 4 * n;
      loops.add(gates + r * 4 * n, row, row, 4);
      step_row<W>(loops, {row, cell + r * n, out + r * n, next + r * n, row}, n, spare);
    }
    hidden = out, cell = next;
  }
}

template <class W>
void run_sequence_back(const LstmBack& l, const Sizes& s, std::int64_t first, std::int64_t last, W* spare) {
  const Loops<W> loops(s.width);
  const std::int64_t n = s.width, rows = last - first;
  const Matrix<const W> weight{l.weight.as<const W>(), n, 1};
  W *d_hidden = l.d_first_hidden.as<W>() + first * n, *d_cell = l.d_first_cell.as<W>() + first * n;
  std::fill_n(d_hidden, rows * n, W(0));
  std::fill_n(d_cell, rows * n, W(0));
  for (std::int64_t t = s.steps; t-- > 0;) {
    const std::int64_t at = t * s.rows + first;
    const W* before = t > 0 ? l.cells.as<const W>() + (at - s.rows) * n : l.first_cell.as<const W>() + first * n;
    W* d_gates = l.d_gates.as<W>() + at * 4 * n;
    loops.add(d_hidden, l.d_hidden.as<const W>() + at * n, d_hidden, static_cast<std::size_t>(rows));
    if (l.d_cells.data) loops.add(d_cell, l.d_cells.as<const W>() + at * n, d_cell, static_cast<std::size_t>(rows));
    for (std::int64_t r = 0; r < rows; ++r)
      back_row<W>(loops,
                  {d_hidden + r * n, d_cell + r * n, l.active.as<const W>() + (at + r) * 4 * n, before + r * n,
                   l.cells.as<const W>() + (at + r) * n, d_gates + r * 4 * n, d_cell + r * n},
                  n, spare);
    gemm(rows, n, 4 * n, Matrix<const W>{d_gates, 4 * n, 1}, weight, Matrix<W>{d_hidden, n, 1});
  }
}

template <class F>
void with_wide(DType dtype, F&& f) {
  if (dtype == DType::f64) return f(double{});
  f(float{});
}

}  // namespace

std::size_t lstm_cell_workspace(const Desc& gates) {
  return bytes_a_part<CellBuffers>(gates.shape[1] / 4, gates.dtype) * static_cast<std::size_t>(cell_parts(gates));
}

void lstm_cell(const LstmCell& c, std::span<std::byte> workspace) {
  const std::int64_t rows = c.gates.shape()[0], n = c.gates.shape()[1] / 4;
  if (rows * n == 0) return;
  const std::size_t each = bytes_a_part<CellBuffers>(n, c.gates.dtype());
  for_rows(rows, cell_parts(*c.gates.desc), each, workspace,
           [&](std::int64_t first, std::int64_t last, std::span<std::byte> bytes) {
             with_float(c.gates.dtype(), [&]<class T>(T) {
               using W = Wide<T>;
               Workspace own(bytes);
               const CellBuffers<W> b(n, own);
               for (std::int64_t r = first; r < last; ++r) {
                 const Row<W> row{read_row<T>(c.gates, r, b.gates), read_row<T>(c.cell, r, b.cell),
                                  result_row<T>(c.hidden, r, b.hidden), result_row<T>(c.next, r, b.next),
                                  result_row<T>(c.active, r, b.active)};
                 step_row(Loops<W>(n), row, n, b.spare);
                 store_row<T>(c.hidden, r, row.hidden), store_row<T>(c.next, r, row.next), store_row<T>(c.active, r, row.active);
               }
             });
           });
}

std::size_t lstm_cell_back_workspace(const Desc& active) {
  return bytes_a_part<CellBackBuffers>(active.shape[1] / 4, active.dtype) * static_cast<std::size_t>(cell_parts(active));
}

void lstm_cell_back(const LstmCellBack& c, std::span<std::byte> workspace) {
  const std::int64_t rows = c.active.shape()[0], n = c.active.shape()[1] / 4;
  if (rows * n == 0) return;
  const std::size_t each = bytes_a_part<CellBackBuffers>(n, c.active.dtype());
  for_rows(rows, cell_parts(*c.active.desc), each, workspace,
           [&](std::int64_t first, std::int64_t last, std::span<std::byte> bytes) {
             with_float(c.active.dtype(), [&]<class T>(T) {
               using W = Wide<T>;
               Workspace own(bytes);
               const CellBackBuffers<W> b(n, own);
               for (std::int64_t r = first; r < last; ++r) {
                 const BackRow<W> row{read_row<T>(c.d_hidden, r, b.d_hidden), read_row<T>(c.d_next, r, b.d_next),
                                      read_row<T>(c.active, r, b.active),     read_row<T>(c.cell, r, b.cell),
                                      read_row<T>(c.next, r, b.next),         result_row<T>(c.d_gates, r, b.d_gates),
                                      result_row<T>(c.d_cell, r, b.d_cell)};
                 back_row(Loops<W>(n), row, n, b.spare);
                 store_row<T>(c.d_gates, r, row.d_gates), store_row<T>(c.d_cell, r, row.d_cell);
               }
             });
           });
}

namespace {

std::size_t spare_bytes(const Sizes& s, DType dtype) {
  Workspace workspace;
  workspace.take(static_cast<std::size_t>(2 * s.width) * size_of(dtype));
  return workspace.used();
}

std::size_t weight_bytes(const Sizes& s, DType dtype) {
  Workspace workspace;
  workspace.take(static_cast<std::size_t>(4 * s.width * s.width) * size_of(dtype));
  return workspace.used();
}

}  // namespace

std::size_t lstm_workspace(const Desc& gates) {
  const Sizes s(gates);
  return weight_bytes(s, gates.dtype) + spare_bytes(s, gates.dtype) * static_cast<std::size_t>(s.parts());
}

void lstm(const Lstm& l, std::span<std::byte> workspace) {
  const Sizes s(*l.gates.desc);
  if (l.hidden.count() == 0) return;
  const DType dtype = l.gates.dtype();
  with_wide(dtype, [&]<class W>(W) {
    auto* across = reinterpret_cast<W*>(workspace.data());
    transpose(l.weight.as<const W>(), 4 * s.width, s.width, across);
    for_rows(s.rows, s.parts(), spare_bytes(s, dtype), workspace.subspan(weight_bytes(s, dtype)),
             [&](std::int64_t first, std::int64_t last, std::span<std::byte> bytes) {
               run_sequence<W>(l, s, across, first, last, reinterpret_cast<W*>(bytes.data()));
             });
  });
}

std::size_t lstm_back_workspace(const Desc& active) {
  const Sizes s(active);
  return spare_bytes(s, active.dtype) * static_cast<std::size_t>(s.parts());
}

void lstm_back(const LstmBack& l, std::span<std::byte> workspace) {
  const Sizes s(*l.active.desc);
  if (l.d_first_cell.count() == 0) return;
  const DType dtype = l.active.dtype();
  with_wide(dtype, [&]<class W>(W) {
    for_rows(s.rows, s.parts(), spare_bytes(s, dtype), workspace,
             [&](std::int64_t first, std::int64_t last, std::span<std::byte> bytes) {
               run_sequence_back<W>(l, s, first, last, reinterpret_cast<W*>(bytes.data()));
             });
  });
}

}  // namespace regrow::kernels
