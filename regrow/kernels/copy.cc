// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <tuple>

#include "regrow/kernels/parallel.h"
#include "regrow/tensor/visit.h"
#include "regrow/tensor/walk.h"

namespace regrow::kernels {
namespace {

constexpr std::int64_t square = 64;      // side of the squares of a transposition
constexpr std::int64_t worth = 1 << 18;  // bytes that are worth waking a thread for

template <class Unit>
void copy_row(const Unit* from, std::int64_t from_stride, Unit* to, std::int64_t to_stride, std::int64_t n) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(Unit));
  } else if (from_stride == 0 && to_stride == 1) {
    std::fill_n(to, n, *from);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

// Two axes, of which `to` is dense along the last and `from` along the first: square by square, through memory of its own, since
// the lines of a square may all fall on the same few places of the cache.
template <class Unit>
void transpose(const Unit* from, std::int64_t from_stride, Unit* to, std::int64_t to_stride, std::int64_t rows,
               std::int64_t columns) {
  alignas(64) Unit held[square][square];
  for (std::int64_t r = 0; r < rows; r += square)
    for (std::int64_t c = 0; c < columns; c += square) {
      const std::int64_t height = std::min(rows - r, square), width = std::min(columns - c, square);
      for (std::int64_t j = 0; j < width; ++j) std::copy_n(from + r + (c + j) * from_stride, height, held[j]);
      for (std::int64_t i = 0; i < height; ++i) {
        Unit* row = to + (r + i) * to_stride + c;
        for (std::int64_t j = 0; j < width; ++j) row[j] = held[j][i];
      }
    }
}

}  // namespace

// The last one or two axes at once, the others by walking.
template <class Unit>
void run_copy(const CopyPlan& plan, const Unit* from, Unit* to) {
  if (plan.shape.size() == 1) return copy_row(from, plan.from[0], to, plan.to[0], plan.shape[0]);
  Shape outer = plan.shape;
  Strides from_outer = plan.from, to_outer = plan.to;
  const auto drop_last = [&] {
    const std::size_t last = outer.size() - 1;
    outer.erase(last), from_outer.erase(last), to_outer.erase(last);
  };
  const std::int64_t n = outer.back(), from_step = from_outer.back(), to_step = to_outer.back();
  drop_last();
  // An axis along which `from` is dense comes next to the last: exchange it with the last of the outer ones.
  if (to_step == 1 && from_step != 1)
    for (std::size_t i = 0; i < outer.size(); ++i)
      if (from_outer[i] == 1) {
        const std::size_t last = outer.size() - 1;
        std::swap(outer[i], outer[last]), std::swap(from_outer[i], from_outer[last]), std::swap(to_outer[i], to_outer[last]);
        const std::int64_t rows = outer.back(), to_row = to_outer.back();
        drop_last();
        walk<2>(outer, {from_outer, to_outer},
                [&](std::int64_t a, std::int64_t b) { transpose(from + a, from_step, to + b, to_row, rows, n); });
        return;
      }
  walk<2>(outer, {from_outer, to_outer},
          [&](std::int64_t a, std::int64_t b) { copy_row(from + a, from_step, to + b, to_step, n); });
}

template void run_copy(const CopyPlan&, const std::uint8_t*, std::uint8_t*);
template void run_copy(const CopyPlan&, const std::uint16_t*, std::uint16_t*);
template void run_copy(const CopyPlan&, const std::uint32_t*, std::uint32_t*);
template void run_copy(const CopyPlan&, const std::uint64_t*, std::uint64_t*);

CopyPlan plan_copy(const Shape& shape, const Strides& from, const Strides& to) {
  Dims order;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != 1) order.push_back(static_cast<std::int64_t>(i));
  const auto key = [&](std::int64_t axis) {
    const auto i = static_cast<std::size_t>(axis);
    return std::tuple(std::abs(to[i]), std::abs(from[i]), -axis);  // ties in axis order
  };
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return key(a) > key(b); });  // stable_sort would allocate
  CopyPlan plan;
  for (std::int64_t axis : order) {
    const auto i = static_cast<std::size_t>(axis);
    const bool merges = !plan.shape.empty() && plan.from.back() == from[i] * shape[i] && plan.to.back() == to[i] * shape[i];
    if (merges) {
      plan.shape.back() *= shape[i], plan.from.back() = from[i], plan.to.back() = to[i];
    } else {
      plan.shape.push_back(shape[i]), plan.from.push_back(from[i]), plan.to.push_back(to[i]);
    }
  }
  if (plan.shape.empty()) plan = {{1}, {1}, {1}};
  return plan;
}

void copy(const View& from, const View& to) {
  if (from.count() == 0) return;
  const CopyPlan plan = plan_copy(from.shape(), from.strides(), to.strides());
  const std::int64_t length = plan.shape[0];
  const std::int64_t bytes = to.count() * static_cast<std::int64_t>(size_of(to.dtype()));
  visit_unit(from.dtype(), [&]<class Unit>(Type<Unit>) {
    parallel_for(length, std::max<std::int64_t>(1, worth * length / bytes), [&](std::int64_t begin, std::int64_t end) {
      CopyPlan part = plan;
      part.shape[0] = end - begin;
      run_copy(part, from.as<const Unit>() + begin * plan.from[0], to.as<Unit>() + begin * plan.to[0]);
    });
  });
}

}  // namespace regrow::kernels
