// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/gemm.h"

#include <hwy/cache_control.h>

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/gemm.cc"
#include "regrow/kernels/targets.inc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace regrow::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Rows of C in registers: 24 or 12 accumulators of two vectors each, one pair of B, one of A.
constexpr int max_rows = HWY_TARGET <= HWY_AVX3 ? 12 : 6;
// Blocks as Goto and van de Geijn (2008) cut them: a panel of B stays in the first cache, a block of A and several panels in the
// second.
constexpr std::int64_t depth = 256;                                     // of a panel of B: 256 x 32 floats are 32 KiB
constexpr std::int64_t block_rows = 96;                                 // of A: as many KiB of floats
constexpr std::int64_t block_panels = HWY_TARGET <= HWY_AVX3 ? 8 : 16;  // of B: 256 KiB

// How many of m rows are taken next: blocks of few rows wait for each other's sums, so what is left over is shared out.
constexpr std::int64_t strip_of(std::int64_t m) {
  if (m >= 2 * max_rows || m == max_rows || max_rows == 6) return std::min<std::int64_t>(m, max_rows);
  if (m > 16 && m <= 20) return max_rows;
  return std::min<std::int64_t>(m, 8);
}

// C[R, 2 vectors] (+)= A[R, k] * panel[k, 2 vectors].
template <int R, bool packed, class T>
HWY_ATTR void block(std::int64_t k, Matrix<const T> a, const T* panel, std::int64_t panel_row, T* c, std::int64_t c_row,
                    bool accumulate) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  using V = hn::Vec<decltype(d)>;
  V left[R], right[R];
  for (int r = 0; r < R; ++r) {
    left[r] = accumulate ? hn::LoadU(d, c + r * c_row) : hn::Zero(d);
    right[r] = accumulate ? hn::LoadU(d, c + r * c_row + lanes) : hn::Zero(d);
  }
  // A pointer for each four rows, so that the processor's addressing reaches all of them.
  constexpr int groups = packed ? 1 : (R + 3) / 4;
  const std::int64_t row = packed ? 1 : a.row, column = packed ? R : a.col;
  const T* rows[groups];
  for (int g = 0; g < groups; ++g) rows[g] = a.data + 4 * g * row;
  for (int r = 0; r < R; ++r) hwy::Prefetch(c + (R + r) * c_row);  // of the next strip
  for (std::int64_t i = 0; i < k; ++i) {
    const V b_left = hn::LoadU(d, panel), b_right = hn::LoadU(d, panel + lanes);
    for (int r = 0; r < R; ++r) {
      const V x = hn::Set(d, packed ? rows[0][r] : rows[r / 4 % groups][r % 4 * row]);
      left[r] = hn::MulAdd(x, b_left, left[r]);
      right[r] = hn::MulAdd(x, b_right, right[r]);
    }
    for (int g = 0; g < groups; ++g) rows[g] += column;
    panel += panel_row;
  }
  for (int r = 0; r < R; ++r) {
    hn::StoreU(left[r], d, c + r * c_row);
    hn::StoreU(right[r], d, c + r * c_row + lanes);
  }
}

// Down the rows of one panel, strip by strip. Packed, a strip is `k` times as many neighbours as it has rows.
template <bool packed, class T>
HWY_ATTR void column_of_blocks(std::int64_t m, std::int64_t k, Matrix<const T> a, const T* panel, std::int64_t panel_row, T* c,
                               std::int64_t c_row, bool accumulate) {
  auto rows = [&]<int R>() HWY_ATTR {
    if constexpr (R <= max_rows) block<R, packed, T>(k, a, panel, panel_row, c, c_row, accumulate);
    a.data += R * (packed ? k : a.row), c += R * c_row, m -= R;
  };
  while (m > 0) switch (strip_of(m)) {
      case 12: rows.template operator()<12>(); break;
      case 8: rows.template operator()<8>(); break;
      case 7: rows.template operator()<7>(); break;
      case 6: rows.template operator()<6>(); break;
      case 5: rows.template operator()<5>(); break;
      case 4: rows.template operator()<4>(); break;
      case 3: rows.template operator()<3>(); break;
      case 2: rows.template operator()<2>(); break;
      default: rows.template operator()<1>(); break;
    }
}

// Numbers in 16 bytes: squares of so many are transposed in registers.
template <class T>
constexpr std::int64_t square = 16 / sizeof(T);

#if HWY_TARGET == HWY_SCALAR
template <class T>
void pack_transposed(std::int64_t k, const T* from, std::int64_t row, T* HWY_RESTRICT to, std::int64_t to_row) {
  for (std::int64_t i = 0; i < k; ++i)
    for (std::int64_t j = 0; j < square<T>; ++j) to[i * to_row + j] = from[j * row + i];
}
template <class T>
void pack_pairs(std::int64_t k, const T* from, std::int64_t row, T* HWY_RESTRICT to, std::int64_t to_row) {
  for (std::int64_t i = 0; i < k; ++i) to[i * to_row] = from[i], to[i * to_row + 1] = from[row + i];
}
#else
// k rows of one square's width, from as many dense columns.
inline HWY_ATTR void pack_transposed(std::int64_t k, const float* from, std::int64_t row, float* HWY_RESTRICT to, std::int64_t to_row) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<double, 2> pairs;
  std::int64_t i = 0;
  for (; i + 4 <= k; i += 4) {
    const auto a = hn::LoadU(d, from + i), b = hn::LoadU(d, from + row + i), e = hn::LoadU(d, from + 2 * row + i),
               f = hn::LoadU(d, from + 3 * row + i);
    const auto ab_low = hn::BitCast(pairs, hn::InterleaveLower(d, a, b)), ab_high = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
    const auto ef_low = hn::BitCast(pairs, hn::InterleaveLower(d, e, f)), ef_high = hn::BitCast(pairs, hn::InterleaveUpper(d, e, f));
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_low, ef_low)), d, to + i * to_row);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_low, ef_low)), d, to + (i + 1) * to_row);
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_high, ef_high)), d, to + (i + 2) * to_row);
    hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_high, ef_high)), d, to + (i + 3) * to_row);
  }
  for (; i < k; ++i)
    for (std::int64_t j = 0; j < 4; ++j) to[i * to_row + j] = from[j * row + i];
}
inline HWY_ATTR void pack_transposed(std::int64_t k, const double* from, std::int64_t row, double* HWY_RESTRICT to, std::int64_t to_row) {
  for (std::int64_t i = 0; i < k; ++i) to[i * to_row] = from[i], to[i * to_row + 1] = from[row + i];
}
// Two rows as k pairs.
inline HWY_ATTR void pack_pairs(std::int64_t k, const float* from, std::int64_t row, float* HWY_RESTRICT to,
                                std::int64_t to_row) {
  const hn::FixedTag<float, 4> d;
  const hn::FixedTag<float, 2> half;
  std::int64_t i = 0;
  for (; i + 4 <= k; i += 4) {
    const auto a = hn::LoadU(d, from + i), b = hn::LoadU(d, from + row + i);
    const auto low = hn::InterleaveLower(d, a, b), high = hn::InterleaveUpper(d, a, b);
    hn::StoreU(hn::LowerHalf(half, low), half, to + i * to_row);
    hn::StoreU(hn::UpperHalf(half, low), half, to + (i + 1) * to_row);
    hn::StoreU(hn::LowerHalf(half, high), half, to + (i + 2) * to_row);
    hn::StoreU(hn::UpperHalf(half, high), half, to + (i + 3) * to_row);
  }
  for (; i < k; ++i) to[i * to_row] = from[i], to[i * to_row + 1] = from[row + i];
}
inline HWY_ATTR void pack_pairs(std::int64_t k, const double* from, std::int64_t row, double* HWY_RESTRICT to,
                                std::int64_t to_row) {
  pack_transposed(k, from, row, to, to_row);
}
#endif

// `width` columns of B as a dense panel of `lanes2` columns, the rest zero.
template <class T>
HWY_ATTR void pack(std::int64_t k, std::int64_t width, std::int64_t lanes2, Matrix<const T> b, T* HWY_RESTRICT panel) {
  if (width < lanes2) std::fill(panel, panel + k * lanes2, T(0));
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  if (b.col == 1 && width == lanes2) {
    for (std::int64_t i = 0; i < k; ++i) {
      const T* from = b.data + i * b.row;
      hn::StoreU(hn::LoadU(d, from), d, panel + i * lanes2);
      hn::StoreU(hn::LoadU(d, from + lanes), d, panel + i * lanes2 + lanes);
    }
  } else if (b.col == 1) {
    for (std::int64_t i = 0; i < k; ++i)
      for (std::int64_t j = 0; j < width; ++j) panel[i * lanes2 + j] = b.data[i * b.row + j];
  } else {
    std::int64_t done = 0;  // columns
    if (b.row == 1)
      for (; done + square<T> <= width; done += square<T>) pack_transposed(k, b.data + done * b.col, b.col, panel + done, lanes2);
    for (std::int64_t j = done; j < width; ++j)
      for (std::int64_t i = 0; i < k; ++i) panel[i * lanes2 + j] = b.data[i * b.row + j * b.col];
  }
}

// m rows of A as the strips that `column_of_blocks` takes.
template <class T>
HWY_ATTR void pack_left(std::int64_t m, std::int64_t k, Matrix<const T> a, T* HWY_RESTRICT to) {
  if (a.row == 1) {
    for (std::int64_t i = 0; i < k; ++i) {
      const T* from = a.data + i * a.col;
      for (std::int64_t r = 0, rows; r < m; r += rows) {
        rows = strip_of(m - r);
        T* strip = to + r * k + i * rows;
        if (rows == max_rows)
          for (int j = 0; j < max_rows; ++j) strip[j] = from[r + j];
        else
          for (std::int64_t j = 0; j < rows; ++j) strip[j] = from[r + j];
      }
    }
    return;
  }
  for (std::int64_t r = 0, rows; r < m; r += rows) {
    rows = strip_of(m - r);
    const T* from = a.data + r * a.row;
    std::int64_t done = 0;
    if (a.col == 1) {
      for (; done + square<T> <= rows; done += square<T>) pack_transposed(k, from + done * a.row, a.row, to + r * k + done, rows);
      if (done + 2 <= rows) pack_pairs(k, from + done * a.row, a.row, to + r * k + done, rows), done += 2;
    }
    for (; done < rows; ++done)
      for (std::int64_t i = 0; i < k; ++i) to[r * k + i * rows + done] = from[done * a.row + i * a.col];
  }
}

// The edge of C, or a C whose columns do not lie together: by way of a dense block on the stack.
template <bool packed, class T>
HWY_ATTR void scattered(std::int64_t m, std::int64_t width, std::int64_t lanes2, std::int64_t k, Matrix<const T> a,
                        const T* panel, Matrix<T> c, bool accumulate) {
  HWY_ALIGN T edge[max_rows * 2 * hn::MaxLanes(hn::ScalableTag<T>())];
  for (std::int64_t i = 0, rows; i < m; i += rows) {
    rows = strip_of(m - i);
    if (accumulate)
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t j = 0; j < lanes2; ++j) edge[r * lanes2 + j] = j < width ? c.data[(i + r) * c.row + j * c.col] : T(0);
    column_of_blocks<packed, T>(rows, k, {a.data + i * (packed ? k : a.row), a.row, a.col}, panel, lanes2, edge, lanes2,
                                accumulate);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < width; ++j) c.data[(i + r) * c.row + j * c.col] = edge[r * lanes2 + j];
  }
}

template <bool packed, class T>
HWY_ATTR void panel_product(std::int64_t m, std::int64_t width, std::int64_t k, Matrix<const T> a, Matrix<const T> panel,
                            Matrix<T> c, bool accumulate) {
  const auto lanes2 = static_cast<std::int64_t>(2 * hn::Lanes(hn::ScalableTag<T>()));
  if (width == lanes2 && c.col == 1)
    column_of_blocks<packed, T>(m, k, a, panel.data, panel.row, c.data, c.row, accumulate);
  else
    scattered<packed, T>(m, width, lanes2, k, a, panel.data, c, accumulate);
}

// A few rows: B is read once, from where it lies if it can be.
template <class T>
HWY_ATTR void low_product(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c,
                          bool accumulate) {
  const auto lanes2 = static_cast<std::int64_t>(2 * hn::Lanes(hn::ScalableTag<T>()));
  HWY_ALIGN T panel[depth * 2 * hn::MaxLanes(hn::ScalableTag<T>())];
  for (std::int64_t j = 0; j < n; j += lanes2) {
    const std::int64_t width = std::min(lanes2, n - j);
    for (std::int64_t i = 0; i == 0 || i < k; i += depth) {  // at least once: a product over nothing is zero
      const std::int64_t part = std::min(depth, k - i);
      Matrix<const T> columns{b.data + i * b.row + j * b.col, b.row, b.col};
      if (width < lanes2 || b.col != 1 || m > 2 * max_rows)
        pack<T>(part, width, lanes2, columns, panel), columns = {panel, lanes2, 1};
      panel_product<false, T>(m, width, part, {a.data + i * a.col, a.row, a.col}, columns, {c.data + j * c.col, c.row, c.col},
                              accumulate || i > 0);
    }
  }
}

template <class T>
HWY_ATTR HWY_NOINLINE void blocked_product(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b,
                                           Matrix<T> c, bool accumulate) {
  const auto lanes2 = static_cast<std::int64_t>(2 * hn::Lanes(hn::ScalableTag<T>()));
  HWY_ALIGN T panels[block_panels * depth * 2 * hn::MaxLanes(hn::ScalableTag<T>())];
  HWY_ALIGN T left[block_rows * depth];
  for (std::int64_t j = 0; j < n; j += block_panels * lanes2) {
    const std::int64_t columns = std::min(block_panels * lanes2, n - j);
    for (std::int64_t i = 0; i < k; i += depth) {
      const std::int64_t part = std::min(depth, k - i);
      for (std::int64_t p = 0; p < columns; p += lanes2)
        pack<T>(part, std::min(lanes2, columns - p), lanes2, {b.data + i * b.row + (j + p) * b.col, b.row, b.col},
                panels + p * part);
      for (std::int64_t r = 0; r < m; r += block_rows) {
        const std::int64_t rows = std::min(block_rows, m - r);
        const Matrix<const T> a_part{a.data + r * a.row + i * a.col, a.row, a.col};
        pack_left<T>(rows, part, a_part, left);
        for (std::int64_t p = 0; p < columns; p += lanes2) {
          const Matrix<const T> panel{panels + p * part, lanes2, 1};
          const Matrix<T> to{c.data + r * c.row + (j + p) * c.col, c.row, c.col};
          const std::int64_t width = std::min(lanes2, columns - p);
          panel_product<true, T>(rows, width, part, {left, 1, 1}, panel, to, accumulate || i > 0);
        }
      }
    }
  }
}

template <class T>
HWY_ATTR void gemm_of(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b, Matrix<T> c,
                      bool accumulate) {
  const bool low = m <= (a.col == 1 ? block_rows / 2 : 2 * max_rows);
  if (low || k == 0)
    low_product<T>(m, n, k, a, b, c, accumulate);
  else
    blocked_product<T>(m, n, k, a, b, c, accumulate);
}

void gemm_f32(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b, Matrix<float> c,
              bool accumulate) {
  gemm_of<float>(m, n, k, a, b, c, accumulate);
}
void gemm_f64(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a, Matrix<const double> b, Matrix<double> c,
              bool accumulate) {
  gemm_of<double>(m, n, k, a, b, c, accumulate);
}

}  // namespace regrow::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regrow::kernels {

HWY_EXPORT(gemm_f32);
HWY_EXPORT(gemm_f64);

void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const float> a, Matrix<const float> b, Matrix<float> c,
          bool accumulate) {
  HWY_DYNAMIC_DISPATCH(gemm_f32)(m, n, k, a, b, c, accumulate);
}
void gemm(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const double> a, Matrix<const double> b, Matrix<double> c,
          bool accumulate) {
  HWY_DYNAMIC_DISPATCH(gemm_f64)(m, n, k, a, b, c, accumulate);
}

}  // namespace regrow::kernels
#endif
