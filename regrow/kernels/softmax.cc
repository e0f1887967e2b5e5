// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/softmax.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "regrow/base/error.h"
#include "regrow/kernels/element_types.h"
#include "regrow/kernels/elementwise.h"
#include "regrow/kernels/parts.h"
#include "regrow/kernels/reduction.h"
#include "regrow/kernels/rows.h"

namespace regrow::kernels {
namespace {

constexpr std::int64_t together = 16;       // rows that are gathered together if their elements lie apart
constexpr double least_elements = 1 << 16;  // that a thread is woken for

// From row to row in a buffer: an odd number of cache lines, so that equal elements of many rows do not compete for the same
// ones.
constexpr std::int64_t pitch_of(std::int64_t length) {
  const std::int64_t capacity = row_capacity(length);
  return capacity % 32 == 0 ? capacity + 16 : capacity;
}

// All rows of a tensor along one axis, in two tensors of one shape.
struct Rows {
  Shape kept;  // the other axes, merged; neighbours along the last lie closest
  Strides in, out;
  std::int64_t length = 1, in_step = 1, out_step = 1;

  std::int64_t count() const { return element_count(kept); }
  std::int64_t lanes() const { return in_step == 1 || kept.empty() ? 1 : std::min(together, kept.back()); }  // rows a unit
  std::int64_t units() const { return kept.empty() ? 1 : count() / kept.back() * units_a_line(); }
  std::int64_t units_a_line() const { return (kept.back() + lanes() - 1) / lanes(); }
};

Rows rows_of(const Desc& x, int axis, const Desc& out) {
  Rows rows;
  if (x.shape.empty()) return rows;
  const auto at = static_cast<std::size_t>(axis);
  Desc one = out;
  one.shape[at] = 1;
  const Reduction plan = plan_reduction(x, {axis}, one);
  rows.kept = plan.kept, rows.in = plan.kept_in, rows.out = plan.kept_out;
  rows.length = x.shape[at], rows.in_step = x.strides[at], rows.out_step = out.strides[at];
  return rows;
}

// The first row of a unit, and how many there are.
struct Unit {
  std::int64_t in = 0, out = 0, rows = 1;
  std::int64_t in_step = 0, out_step = 0;  // from row to row
};

Unit unit_at(const Rows& rows, std::int64_t index) {
  Unit unit;
  if (rows.kept.empty()) return unit;
  const std::size_t last = rows.kept.size() - 1;
  const std::int64_t lane = index % rows.units_a_line() * rows.lanes();
  unit.in_step = rows.in[last], unit.out_step = rows.out[last];
  unit.in = lane * unit.in_step, unit.out = lane * unit.out_step;
  unit.rows = std::min(rows.lanes(), rows.kept[last] - lane);
  std::int64_t rest = index / rows.units_a_line();
  for (std::size_t i = last; i-- > 0;) {
    unit.in += rest % rows.kept[i] * rows.in[i], unit.out += rest % rows.kept[i] * rows.out[i];
    rest /= rows.kept[i];
  }
  return unit;
}

// Dense elements of one type as another.
template <class To, class From>
void convert_dense(const From* from, std::int64_t n, To* to) {
  if constexpr (std::is_same_v<To, From>) {
    std::copy_n(from, n, to);
  } else {
    static const TileFn fn = convert(dtype_of<From>(), dtype_of<To>()).fn;
    const void* in = from;
    fn(&in, to, static_cast<std::size_t>(n));
  }
}

template <class T>
void gather(const T* x, std::int64_t step, std::int64_t n, Wide<T>* row) {
  if (step == 1) {
    convert_dense(x, n, row);
  } else {
    for (std::int64_t i = 0; i < n; ++i) row[i] = static_cast<Wide<T>>(x[i * step]);
  }
}

template <class T>
void scatter(const Wide<T>* row, std::int64_t step, std::int64_t n, T* out) {
  if (step == 1) {
    convert_dense(row, n, out);
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i * step] = static_cast<T>(row[i]);
  }
}

// Gathers the rows of a unit one behind the other, lets f(row) change each, and scatters them. Several at once go element by
// element: neighbours share cache lines.
template <class T, class F>
void through_buffer(const Rows& rows, const Unit& unit, const T* x, T* out, Wide<T>* buffer, F&& f) {
  const std::int64_t pitch = pitch_of(rows.length);
  if (unit.rows == 1) {
    gather(x + unit.in, rows.in_step, rows.length, buffer);
    f(buffer);
    return scatter(buffer, rows.out_step, rows.length, out + unit.out);
  }
  for (std::int64_t i = 0; i < rows.length; ++i)
    for (std::int64_t r = 0; r < unit.rows; ++r)
      buffer[r * pitch + i] = static_cast<Wide<T>>(x[unit.in + r * unit.in_step + i * rows.in_step]);
  for (std::int64_t r = 0; r < unit.rows; ++r) f(buffer + r * pitch);
  for (std::int64_t i = 0; i < rows.length; ++i)
    for (std::int64_t r = 0; r < unit.rows; ++r)
      out[unit.out + r * unit.out_step + i * rows.out_step] = static_cast<T>(buffer[r * pitch + i]);
}

std::size_t buffer_bytes(std::int64_t length, std::int64_t rows, DType dtype) {
  return static_cast<std::size_t>(pitch_of(length) * rows) * (dtype == DType::f64 ? sizeof(double) : sizeof(float));
}

// body(first, last, buffer) for all units; as many threads as the workspace has buffers for.
template <class Body>
void for_units(std::int64_t units, double elements, std::size_t buffer, std::span<std::byte> workspace, Body&& body) {
  require(workspace.size() >= buffer, "the workspace has {} bytes, {} are needed", workspace.size(), buffer);
  const int parts =
      std::min(parts_for(elements, least_elements), static_cast<int>(std::min<std::size_t>(workspace.size() / buffer, 1024)));
  for_parts(parts, [&](int index) {
    body(cut(units, parts, index), cut(units, parts, index + 1), workspace.data() + buffer * static_cast<std::size_t>(index));
  });
}

std::size_t workspace_for(std::int64_t length, std::int64_t rows, const Desc& x) {
  return buffer_bytes(length, rows, x.dtype) *
         static_cast<std::size_t>(parts_for(static_cast<double>(x.count()), least_elements));
}

template <class T>
void take_logarithms(T* row, std::int64_t n) {
  const RowMass<T> mass = row_mass(row, n);
  row_subtract(row, n, mass.max, std::log(mass.sum));
}

// -1: the row does not count.
std::int64_t target_at(const CrossEntropy& c, std::int64_t row) {
  std::int64_t target = 0;
  const std::int64_t at = row * c.targets.strides()[0];
  with_integer(c.targets.dtype(), [&]<class T>(T) { target = static_cast<std::int64_t>(c.targets.as<const T>()[at]); });
  return c.ignored && target == *c.ignored ? -1 : target;
}

Rows logit_rows(const CrossEntropy& c, const Desc& out) {
  Rows rows = rows_of(*c.logits.desc, 1, out);
  // One row after the other in their order: the target is found by the row's index.
  rows.kept = {c.logits.shape()[0]}, rows.in = {c.logits.strides()[0]}, rows.out = {out.strides[0]};
  return rows;
}

template <class T>
double row_loss(const CrossEntropy& c, T* row, std::int64_t classes, std::int64_t target) {
  const auto chosen = static_cast<double>(row[target]);
  const double weight = c.weights.empty() ? 1 : c.weights[static_cast<std::size_t>(target)];
  double mean = 0;  // weighted
  if (c.smoothing != 0) {
    for (std::int64_t i = 0; i < classes; ++i)
      mean += c.weights.empty() ? static_cast<double>(row[i]) : static_cast<double>(row[i]) * c.weights[static_cast<std::size_t>(i)];
    mean /= static_cast<double>(classes);
  }
  const RowMass<T> mass = row_mass(row, classes);
  const double max = static_cast<double>(mass.max), log_sum = std::log(static_cast<double>(mass.sum));
  const double loss = weight == 1 ? (max - chosen) + log_sum : weight * ((max - chosen) + log_sum);
  if (c.smoothing == 0) return loss;
  const double share = c.total / static_cast<double>(classes);
  return (1 - c.smoothing) * loss + c.smoothing * (share == 1 ? (max - mean) + log_sum : share * (max + log_sum) - mean);
}

// Probabilities become scale (p sum(q) - q) with the weighted target q.
template <class W>
void weigh_row(const CrossEntropy& c, W* row, std::int64_t classes, std::int64_t target, W scale) {
  const double spread = c.smoothing / static_cast<double>(classes);
  const double chosen = (1 - c.smoothing) * c.weights[static_cast<std::size_t>(target)];
  const double sum = chosen + spread * c.total;
  for (std::int64_t j = 0; j < classes; ++j) {
    const double wanted = spread * c.weights[static_cast<std::size_t>(j)] + (j == target ? chosen : 0);
    row[j] = static_cast<W>(static_cast<double>(row[j]) * sum - wanted) * scale;
  }
}

}  // namespace

std::size_t softmax_workspace(const Desc& x, int axis) {
  if (x.count() == 0) return 0;
  const Rows rows = rows_of(x, axis, x);
  return workspace_for(rows.length, rows.lanes(), x);
}

void softmax(SoftmaxKind kind, const View& x, int axis, const View& out, std::span<std::byte> workspace) {
  if (x.count() == 0) return;
  const Rows rows = rows_of(*x.desc, axis, *out.desc);
  const std::size_t buffer = buffer_bytes(rows.length, rows.lanes(), x.dtype());
  for_units(rows.units(), static_cast<double>(x.count()), buffer, workspace,
            [&](std::int64_t first, std::int64_t last, std::byte* bytes) {
              with_float(x.dtype(), [&]<class T>(T) {
                for (std::int64_t i = first; i < last; ++i)
                  through_buffer(rows, unit_at(rows, i), x.as<const T>(), out.as<T>(), reinterpret_cast<Wide<T>*>(bytes),
                                 [&](Wide<T>* row) {
                                   if (kind == SoftmaxKind::probabilities) row_softmax(row, rows.length);
                                   else take_logarithms(row, rows.length);
                                 });
              });
            });
}

std::size_t cross_entropy_workspace(const Desc& logits) {
  return logits.count() == 0 ? 0 : workspace_for(logits.shape[1], 1, logits);
}

void cross_entropy(const CrossEntropy& c, double* losses, std::span<std::byte> workspace) {
  if (c.logits.count() == 0) return;
  const std::int64_t rows = c.logits.shape()[0], classes = c.logits.shape()[1];
  const std::size_t buffer = buffer_bytes(classes, 1, c.logits.dtype());
  for_units(rows, static_cast<double>(c.logits.count()), buffer, workspace,
            [&](std::int64_t first, std::int64_t last, std::byte* bytes) {
              with_float(c.logits.dtype(), [&]<class T>(T) {
                auto* row = reinterpret_cast<Wide<T>*>(bytes);
                for (std::int64_t i = first; i < last; ++i) {
                  const std::int64_t target = target_at(c, i);
                  const T* from = c.logits.as<const T>() + i * c.logits.strides()[0];
                  gather(from, c.logits.strides()[1], classes, row);
                  losses[i] = target < 0 ? 0 : row_loss(c, row, classes, target);
                }
              });
            });
}

void cross_entropy_back(const CrossEntropy& c, const View& scales, double factor, const View& out,
                        std::span<std::byte> workspace) {
  if (out.count() == 0) return;
  const Rows rows = logit_rows(c, *out.desc);
  const std::int64_t classes = rows.length;
  const std::int64_t scale_step = scales.count() == 1 ? 0 : scales.strides()[0];
  const std::size_t buffer = buffer_bytes(classes, 1, out.dtype());
  Rows single = rows;
  single.kept = {};
  for_units(rows.count(), static_cast<double>(out.count()), buffer, workspace,
            [&](std::int64_t first, std::int64_t last, std::byte* bytes) {
              with_float(out.dtype(), [&]<class T>(T) {
                using W = Wide<T>;
                for (std::int64_t i = first; i < last; ++i) {
                  const std::int64_t target = target_at(c, i);
                  const Unit unit{.in = i * rows.in[0], .out = i * rows.out[0]};
                  through_buffer(single, unit, c.logits.as<const T>(), out.as<T>(), reinterpret_cast<W*>(bytes), [&](W* row) {
                    if (target < 0) return std::fill_n(row, classes, W(0)), void();
                    const W scale =
                        static_cast<W>(factor * static_cast<double>(static_cast<W>(scales.as<const T>()[i * scale_step])));
                    const W spread = static_cast<W>(c.smoothing / static_cast<double>(classes));
                    row_softmax(row, classes);
                    if (!c.weights.empty()) return weigh_row(c, row, classes, target, scale);
                    row[target] -= static_cast<W>(1 - c.smoothing);
                    for (std::int64_t j = 0; j < classes; ++j) row[j] = (row[j] - spread) * scale;
                  });
                }
              });
            });
}

}  // namespace regrow::kernels
