// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/fold.h"

#include "regrow/kernels/targets.inc"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/fold.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "regrow/tensor/half.h"
#include "regrow/tensor/visit.h"

HWY_BEFORE_NAMESPACE();
namespace regrow::kernels {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
inline constexpr bool is_short = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

struct Sum {
  template <class A>
  static A identity() {
    return static_cast<A>(-0.0);  // not +0, which would change -0
  }
  template <class A>
  static A scalar(A a, A b) {
    return a + b;
  }
  template <class V>
  static V vector(V a, V b) {
    return hn::Add(a, b);
  }
};

struct Prod {
  template <class A>
  static A identity() {
    return A{1};
  }
  template <class A>
  static A scalar(A a, A b) {
    return a * b;
  }
  template <class V>
  static V vector(V a, V b) {
    return hn::Mul(a, b);
  }
};

// A NaN on either side stays; of equals the first.
struct Max {
  template <class A>
  static A identity() {
    return std::is_floating_point_v<A> ? -std::numeric_limits<A>::infinity() : std::numeric_limits<A>::lowest();
  }
  template <class A>
  static A scalar(A a, A b) {
    return ((a < b) | (b != b)) ? b : a;
  }
  template <class V>
  static V vector(V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(b)), b, a);
  }
};

struct Min {
  template <class A>
  static A identity() {
    return std::is_floating_point_v<A> ? std::numeric_limits<A>::infinity() : std::numeric_limits<A>::max();
  }
  template <class A>
  static A scalar(A a, A b) {
    return ((b < a) | (b != b)) ? b : a;
  }
  template <class V>
  static V vector(V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Lt(b, a), hn::IsNaN(b)), b, a);
  }
};

struct Any {
  template <class A>
  static A identity() {
    return A{0};
  }
  template <class A>
  static A scalar(A a, A b) {
    return a | b;
  }
};

struct All {
  template <class A>
  static A identity() {
    return A{1};
  }
  template <class A>
  static A scalar(A a, A b) {
    return a & b;
  }
};

// A vector of accumulators from elements, where one instruction or two can do it.
template <class T, class A>
inline constexpr bool loads_directly = std::is_same_v<T, A> || is_short<T> ||
                                       (std::is_same_v<T, float> && std::is_same_v<A, double>);

template <class D, class T>
HWY_INLINE hn::Vec<D> load(D d, const T* x) {
  if constexpr (std::is_same_v<T, hn::TFromD<D>>) {
    return hn::LoadU(d, x);
  } else if constexpr (std::is_same_v<T, float>) {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), x));
  } else if constexpr (std::is_same_v<T, Half>) {
#if HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR
    // Highway's emulation makes numbers of infinities and NaN.
    float widened[hn::MaxLanes(D())];
    for (std::size_t i = 0; i < hn::Lanes(d); ++i) widened[i] = static_cast<float>(x[i]);
    return hn::LoadU(d, widened);
#else
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::float16_t, D>(), reinterpret_cast<const hwy::float16_t*>(x)));
#endif
  } else {
    return hn::PromoteTo(d, hn::LoadU(hn::Rebind<hwy::bfloat16_t, D>(), reinterpret_cast<const hwy::bfloat16_t*>(x)));
  }
}

// Whether the accumulator is a truth value.
template <class Op>
inline constexpr bool is_logical = std::is_same_v<Op, Any> || std::is_same_v<Op, All>;

template <class Op, class T, class A>
HWY_INLINE A converted(T x) {
  if constexpr (is_logical<Op>) {
    if constexpr (is_short<T>)
      return (x.bits & 0x7fff) != 0;
    else
      return x != T{0};
  } else {
    return static_cast<A>(x);
  }
}

template <class Op, class A>
void identity(std::int64_t n, void* acc) {
  std::fill_n(static_cast<A*>(acc), n, Op::template identity<A>());
}

template <class Op, class A>
void combine(const void* b, std::int64_t n, void* acc) {
  A* HWY_RESTRICT a = static_cast<A*>(acc);
  const A* HWY_RESTRICT other = static_cast<const A*>(b);
  for (std::int64_t i = 0; i < n; ++i) a[i] = Op::scalar(a[i], other[i]);
}

// 16-bit floating types become f32 by vectors, the rest through one padded vector.
template <class T>
void widen(const T* HWY_RESTRICT x, std::int64_t n, float* HWY_RESTRICT out) {
  const hn::CappedTag<float, fold_lanes> d;
  constexpr std::int64_t step = hn::MaxLanes(d);
  std::int64_t i = 0;
  for (; i + step <= n; i += step) hn::StoreU(load(d, x + i), d, out + i);
  if (i == n) return;
  T padded[step] = {};
  float widened[step];
  std::memcpy(padded, x + i, static_cast<std::size_t>(n - i) * sizeof(T));
  hn::StoreU(load(d, padded), d, widened);
  std::memcpy(out + i, widened, static_cast<std::size_t>(n - i) * sizeof(float));
}

template <class Op, class T, class A>
void assign(const void* from, std::int64_t n, void* acc) {
  const T* HWY_RESTRICT x = static_cast<const T*>(from);
  A* HWY_RESTRICT a = static_cast<A*>(acc);
  if constexpr (is_short<T> && !is_logical<Op>) {
    float widened[fold_lanes * 4];
    constexpr std::int64_t step = fold_lanes * 4;
    for (std::int64_t i = 0; i < n; i += step) {
      const std::int64_t count = std::min(step, n - i);
      widen(x + i, count, widened);
      std::copy_n(widened, count, a + i);
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) a[i] = converted<Op, T, A>(x[i]);
  }
}

template <class Op, class T, class A>
void row(const void* from, std::int64_t n, void* acc) {
  A* HWY_RESTRICT a = static_cast<A*>(acc);
  if constexpr (is_short<T> && !is_logical<Op>) {
    constexpr std::int64_t step = fold_lanes * 4;
    float widened[step];
    for (std::int64_t i = 0; i < n; i += step) {
      const std::int64_t count = std::min(step, n - i);
      widen(static_cast<const T*>(from) + i, count, widened);
      for (std::int64_t k = 0; k < count; ++k) a[i + k] = Op::scalar(a[i + k], static_cast<A>(widened[k]));
    }
  } else {
    const T* HWY_RESTRICT x = static_cast<const T*>(from);
    for (std::int64_t i = 0; i < n; ++i) a[i] = Op::scalar(a[i], converted<Op, T, A>(x[i]));
  }
}

template <class Op, class T, class A>
inline constexpr bool goes_by_vectors =
    std::is_floating_point_v<A> && !is_logical<Op> && loads_directly<T, A> && !(is_short<T> && std::is_same_v<A, double>);

// `step` elements from row to row, `count` rows; the count is a constant where it is the usual one.
template <class Op, class T, class A, class Count>
HWY_INLINE void add_rows(const T* HWY_RESTRICT x, std::int64_t step, Count count, const T* next, A* HWY_RESTRICT acc) {
  const hn::CappedTag<A, fold_lanes> d;
  constexpr std::int64_t width = hn::MaxLanes(d), vectors = fold_lanes / width;
  hn::Vec<decltype(d)> sums[vectors];
  for (std::int64_t k = 0; k < vectors; ++k) sums[k] = hn::LoadU(d, acc + k * width);
  for (std::int64_t r = 0; r < count; ++r) {
    if (next) __builtin_prefetch(next + r * step);
    for (std::int64_t k = 0; k < vectors; ++k) sums[k] = Op::vector(sums[k], load(d, x + r * step + k * width));
  }
  for (std::int64_t k = 0; k < vectors; ++k) hn::StoreU(sums[k], d, acc + k * width);
}

template <class Op, class T, class A>
void rows(const void* from, std::int64_t step, std::int64_t count, std::int64_t n, const void* next, void* acc) {
  const T *x = static_cast<const T*>(from), *after = static_cast<const T*>(next);
  A* a = static_cast<A*>(acc);
  std::int64_t i = 0;
  if constexpr (goes_by_vectors<Op, T, A>) {
    if (count == fold_rows && next)
      for (; i + fold_lanes <= n; i += fold_lanes)
        add_rows<Op, T, A>(x + i, step, std::integral_constant<std::int64_t, fold_rows>(), after + i, a + i);
    for (; i + fold_lanes <= n; i += fold_lanes) add_rows<Op, T, A>(x + i, step, count, next ? after + i : nullptr, a + i);
  }
  for (std::int64_t r = 0; r < count && i < n; ++r) row<Op, T, A>(x + r * step + i, n - i, a + i);
}

// Lanes that hold something, halved until one is left. (Those beyond would hold the identity.)
template <class Op, class A>
A fold_of_lanes(A* lanes, std::int64_t used) {
  for (auto w = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(used)) / 2); w > 0; w /= 2) {
    for (std::int64_t j = 0; j + w < used; ++j) lanes[j] = Op::scalar(lanes[j], lanes[j + w]);
    used = w;
  }
  return lanes[0];
}

// One stream of loads keeps too few lines on the way to reach the memory's rate: of the 32 KiB behind those at hand, eight pages
// are fetched in turn, a line each, one for each line that is read here.
HWY_INLINE void fetch_ahead(const void* read) {
  constexpr std::uintptr_t line = 64, page = 4096, pages = 8;
  const auto address = reinterpret_cast<std::uintptr_t>(read);
  const std::uintptr_t begin = address & ~(pages * page - 1), index = (address - begin) / line;
  const std::uintptr_t fetched = begin + pages * page + index % pages * page + index / pages * line;
  __builtin_prefetch(reinterpret_cast<const void*>(fetched), 0, 2);
}

template <class Op, class T, class A, bool far>
void block_of_vectors(const T* x, std::int64_t n, A* acc) {
  A lanes[fold_lanes];
  if (n < fold_lanes) {
    assign<Op, T, A>(x, n, lanes);
    *acc = fold_of_lanes<Op>(lanes, n);
    return;
  }
  const hn::CappedTag<A, fold_lanes> d;
  constexpr std::int64_t step = hn::MaxLanes(d), count = fold_lanes / step;
  hn::Vec<decltype(d)> sums[count];
  for (std::int64_t k = 0; k < count; ++k) sums[k] = load(d, x + k * step);
  std::int64_t i = fold_lanes;
  for (; i + fold_lanes <= n; i += fold_lanes) {
    if constexpr (far)
      for (std::int64_t k = 0; k < fold_lanes; k += 64 / static_cast<std::int64_t>(sizeof(T))) fetch_ahead(x + i + k);
    for (std::int64_t k = 0; k < count; ++k) sums[k] = Op::vector(sums[k], load(d, x + i + k * step));
  }
  for (std::int64_t k = 0; k < count; ++k) hn::StoreU(sums[k], d, lanes + k * step);
  if (i < n) row<Op, T, A>(x + i, n - i, lanes);
  *acc = fold_of_lanes<Op>(lanes, fold_lanes);
}

template <class Op, class T, class A, bool far>
void block(const void* from, std::int64_t n, void* acc) {
  const T* x = static_cast<const T*>(from);
  if constexpr (is_logical<Op>) {
    std::uint32_t hits = 0;  // counting becomes vector code
    for (std::int64_t i = 0; i < n; ++i) hits += converted<Op, T, A>(x[i]) ? 1 : 0;
    *static_cast<A*>(acc) = std::is_same_v<Op, Any> ? hits != 0 : hits == n;
  } else if constexpr (!std::is_floating_point_v<A>) {  // no rounding: any order gives the same
    A all = Op::template identity<A>();
    for (std::int64_t i = 0; i < n; ++i) all = Op::scalar(all, converted<Op, T, A>(x[i]));
    *static_cast<A*>(acc) = all;
  } else if constexpr (goes_by_vectors<Op, T, A>) {
    block_of_vectors<Op, T, A, far>(x, n, static_cast<A*>(acc));
  } else {
    A wide[fold_block];
    assign<Op, T, A>(x, n, wide);
    block_of_vectors<Op, A, A, false>(wide, n, static_cast<A*>(acc));
  }
}

template <class Op, class T, class A>
const FoldLoops* loops() {
  static constexpr FoldLoops value{identity<Op, A>, assign<Op, T, A>,       row<Op, T, A>,        rows<Op, T, A>,
                                   combine<Op, A>,  block<Op, T, A, false>, block<Op, T, A, true>};
  return &value;
}

template <class Op, class T>
const FoldLoops* arithmetic(DType accumulator) {
  if (accumulator == DType::f64) return loops<Op, T, double>();
  if constexpr (is_short<T>)
    return loops<Op, T, float>();
  else if constexpr (std::is_integral_v<T>)
    return loops<Op, T, std::uint64_t>();
  else
    return nullptr;
}

template <class Op, class T>
const FoldLoops* extreme() {
  if constexpr (is_short<T>)
    return loops<Op, T, float>();
  else
    return loops<Op, T, T>();
}

const FoldLoops* find_loops(Fold fold, DType in, DType accumulator) {
  return visit_type(in, [&]<class T>(Type<T>) HWY_ATTR -> const FoldLoops* {
    switch (fold) {
      case Fold::sum: return arithmetic<Sum, T>(accumulator);
      case Fold::prod: return arithmetic<Prod, T>(accumulator);
      case Fold::max: return extreme<Max, T>();
      case Fold::min: return extreme<Min, T>();
      case Fold::any: return loops<Any, T, bool>();
      case Fold::all: return loops<All, T, bool>();
    }
    return nullptr;
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace regrow::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regrow::kernels {

HWY_EXPORT(find_loops);

DType accumulator_of(Fold fold, DType in, DType out) noexcept {
  const bool short_float = in == DType::f16 || in == DType::bf16;
  switch (fold) {
    case Fold::any:
    case Fold::all: return DType::boolean;
    case Fold::max:
    case Fold::min: return short_float ? DType::f32 : in;
    default:
      if (!is_floating(out)) return DType::u64;
      return short_float && out != DType::f64 ? DType::f32 : DType::f64;
  }
}

const FoldLoops& fold_loops(Fold fold, DType in, DType accumulator) {
  return *HWY_DYNAMIC_DISPATCH(find_loops)(fold, in, accumulator);
}

}  // namespace regrow::kernels
#endif
