// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/pooling.h"

#include <algorithm>

#include "regrow/base/error.h"
#include "regrow/kernels/convert.h"
#include "regrow/kernels/element_types.h"
#include "regrow/kernels/parts.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/pooling.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "regrow/kernels/targets.inc"

#ifndef REGROW_KERNELS_POOLING_ONCE
#define REGROW_KERNELS_POOLING_ONCE
namespace regrow::kernels {

constexpr std::int64_t pool_lanes = 64;  // windows at a time

// Windows that are done together: of neighbouring channels where these lie together in memory, of neighbouring columns otherwise.
enum class Lanes : std::uint8_t { channels, columns };

inline Lanes lanes_along(const Pooling& s, const View& image) {
  return image.strides()[1] == 1 && s.channels >= 8 ? Lanes::channels : Lanes::columns;
}

// `lanes` windows of one image: this one and those of the next channels or columns. Rows [top, bottom) and columns [left, right)
// of it are inside, of all of them the same part; `area` counts the padding too.
struct Window {
  std::int64_t n, c, oh, ow, lanes;
  std::int64_t top, bottom, left, right;
  std::int64_t height, area;
};

// Where window `o` lies along an axis: [begin, end) of the padded image, and what of it is inside.
struct WindowSpan {
  std::int64_t begin, end, first, last;
};
inline WindowSpan span_of(const Pooling& s, std::size_t axis, std::int64_t o) {
  const std::int64_t in = s.in[axis], out = s.out[axis];
  if (s.adaptive) {
    const std::int64_t begin = o * in / out, end = ((o + 1) * in + out - 1) / out;
    return {begin, end, begin, end};
  }
  const std::int64_t begin = o * s.stride[axis] - s.padding[axis];
  return {begin, std::min(begin + s.window[axis], in + s.padding[axis]), std::max<std::int64_t>(begin, 0),
          std::min(begin + s.window[axis], in)};
}

inline double divisor_of(const Pooling& s, const Window& w) {
  if (s.divisor != 0) return static_cast<double>(s.divisor);
  return static_cast<double>(s.counts_padding ? w.area : (w.bottom - w.top) * (w.right - w.left));
}

// A tensor (n, c, h, w) with its strides at hand, and the distance from lane to lane.
template <class T>
struct Planes {
  T* data;
  std::int64_t n, c, h, w, step;
  // `column_step`: of a window in this tensor, the stride in an image, 1 in a result.
  Planes(const View& view, Lanes along, std::int64_t column_step)
      : data(view.as<T>()),
        n(view.strides()[0]),
        c(view.strides()[1]),
        h(view.strides()[2]),
        w(view.strides()[3]),
        step(along == Lanes::channels ? c : w * column_step) {}
  T* at(const Window& window, std::int64_t y, std::int64_t x) const { return data + window.n * n + window.c * c + y * h + x * w; }
};

}  // namespace regrow::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace regrow::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// f32 and f64 of neighbouring channels, in whole vectors: most activations. The same operations as the loops further below.
template <class T>
struct ChannelVectors {
  static constexpr bool exist = std::is_floating_point_v<T>;
  using D = hn::ScalableTag<std::conditional_t<exist, T, float>>;
  using I = hn::RebindToSigned<D>;
  using V = hn::Vec<D>;
  static bool fit(const Window& w, Lanes along) {
    return exist && along == Lanes::channels && w.lanes % static_cast<std::int64_t>(hn::Lanes(D())) == 0;
  }
  // f(first lane) for every vector.
  template <class F>
  static HWY_INLINE void for_each(const Window& w, F&& f) {
    for (std::int64_t i = 0; i < w.lanes; i += static_cast<std::int64_t>(hn::Lanes(D()))) f(i);
  }
  // f(row, column) for every element of the window that is inside.
  template <class F>
  static HWY_INLINE void inside(const Window& w, F&& f) {
    for (std::int64_t row = w.top; row < w.bottom; ++row)
      for (std::int64_t column = w.left; column < w.right; ++column) f(row, column);
  }
  static HWY_INLINE hn::Mask<D> better(V next, V best) {
    return hn::Or(hn::Gt(next, best), hn::AndNot(hn::IsNaN(best), hn::IsNaN(next)));
  }
};

template <class T>
HWY_INLINE void max_of_channels(const Planes<const T>& x, const Window& w, T* out) {
  using C = ChannelVectors<T>;
  const typename C::D d;
  C::for_each(w, [&](std::int64_t i) HWY_ATTR {
    auto best = hn::LoadU(d, x.at(w, w.top, w.left) + i);
    C::inside(w, [&](std::int64_t row, std::int64_t column) HWY_ATTR {
      const auto next = hn::LoadU(d, x.at(w, row, column) + i);
      best = hn::IfThenElse(C::better(next, best), next, best);
    });
    hn::StoreU(best, d, out + i);
  });
}

template <class T>
HWY_INLINE void max_back_of_channels(const Planes<const T>& x, const Window& w, const T* grad, const Planes<T>& sums) {
  using C = ChannelVectors<T>;
  using Index = hn::TFromD<typename C::I>;
  const typename C::D d;
  const typename C::I di;
  C::for_each(w, [&](std::int64_t i) HWY_ATTR {
    auto best = hn::LoadU(d, x.at(w, w.top, w.left) + i);
    auto winner = hn::Zero(di);
    Index index = 0;
    C::inside(w, [&](std::int64_t row, std::int64_t column) HWY_ATTR {
      const auto next = hn::LoadU(d, x.at(w, row, column) + i);
      const auto better = C::better(next, best);
      best = hn::IfThenElse(better, next, best);
      winner = hn::IfThenElse(hn::RebindMask(di, better), hn::Set(di, index++), winner);
    });
    const auto g = hn::LoadU(d, grad + i);
    index = 0;
    C::inside(w, [&](std::int64_t row, std::int64_t column) HWY_ATTR {
      T* sum = sums.at(w, row, column) + i;
      const auto here = hn::RebindMask(d, hn::Eq(winner, hn::Set(di, index++)));
      hn::StoreU(hn::Add(hn::LoadU(d, sum), hn::IfThenElseZero(here, g)), d, sum);
    });
  });
}

template <class T>
HWY_INLINE void mean_of_channels(const Planes<const T>& x, const Window& w, T divisor, T* out) {
  using C = ChannelVectors<T>;
  const typename C::D d;
  C::for_each(w, [&](std::int64_t i) HWY_ATTR {
    auto sum = hn::Zero(d);
    C::inside(
        w, [&](std::int64_t row, std::int64_t column) HWY_ATTR { sum = hn::Add(sum, hn::LoadU(d, x.at(w, row, column) + i)); });
    hn::StoreU(hn::Div(sum, hn::Set(d, divisor)), d, out + i);
  });
}

template <class T>
HWY_INLINE void mean_back_of_channels(const Window& w, const T* grad, T divisor, const Planes<T>& sums) {
  using C = ChannelVectors<T>;
  const typename C::D d;
  C::for_each(w, [&](std::int64_t i) HWY_ATTR {
    const auto share = hn::Div(hn::LoadU(d, grad + i), hn::Set(d, divisor));
    C::inside(w, [&](std::int64_t row, std::int64_t column) HWY_ATTR {
      T* sum = sums.at(w, row, column) + i;
      hn::StoreU(hn::Add(hn::LoadU(d, sum), share), d, sum);
    });
  });
}

// The loops below are plain, and become vectors along the lanes.

template <class T>
void load(const T* from, std::int64_t step, std::int64_t lanes, Wide<T>* HWY_RESTRICT to) {
  if (step == 1) {
    for (std::int64_t i = 0; i < lanes; ++i) to[i] = static_cast<Wide<T>>(from[i]);
  } else {
    for (std::int64_t i = 0; i < lanes; ++i) to[i] = static_cast<Wide<T>>(from[i * step]);
  }
}

template <class T>
void store(const Wide<T>* HWY_RESTRICT from, std::int64_t step, std::int64_t lanes, T* to) {
  if (step == 1) {
    for (std::int64_t i = 0; i < lanes; ++i) to[i] = static_cast<T>(from[i]);
  } else {
    for (std::int64_t i = 0; i < lanes; ++i) to[i * step] = static_cast<T>(from[i]);
  }
}

// The windows of one row of results, column by column; those that are inside as a whole together.
template <class F>
void for_columns(const Pooling& s, Window& w, F&& f) {
  for (w.ow = 0; w.ow < s.out[1]; w.ow += w.lanes) {
    const WindowSpan x = span_of(s, 1, w.ow);
    w.left = x.first, w.right = x.last, w.area = w.height * (x.end - x.begin);
    w.lanes = 1;
    if (!s.adaptive && x.begin >= 0 && x.begin + s.window[1] <= s.in[1]) {
      const std::int64_t whole = (s.in[1] - s.window[1] - x.begin) / s.stride[1] + 1;  // from here on
      w.lanes = std::min({pool_lanes, whole, s.out[1] - w.ow});
    }
    f(w);
  }
}

template <class F>
void for_channels(const Pooling& s, Window& w, F&& f) {
  w.lanes = std::min(pool_lanes, s.channels - w.c);
  for (w.ow = 0; w.ow < s.out[1]; ++w.ow) {
    const WindowSpan x = span_of(s, 1, w.ow);
    w.left = x.first, w.right = x.last, w.area = w.height * (x.end - x.begin);
    f(w);
  }
}

// Calls f(window) for the windows of units [first, last): a unit is one plane of one image, or pool_lanes of them.
template <class F>
void for_windows(const Pooling& s, Lanes along, std::int64_t first, std::int64_t last, F&& f) {
  const std::int64_t planes = along == Lanes::channels ? pool_lanes : 1, units = (s.channels + planes - 1) / planes;
  for (std::int64_t unit = first; unit < last; ++unit) {
    Window w{};
    w.n = unit / units, w.c = unit % units * planes;
    for (w.oh = 0; w.oh < s.out[0]; ++w.oh) {
      const WindowSpan y = span_of(s, 0, w.oh);
      w.top = y.first, w.bottom = y.last, w.height = y.end - y.begin;
      along == Lanes::channels ? for_channels(s, w, f) : for_columns(s, w, f);
    }
  }
}

// Adds up in sum[i step], where no two lanes meet.
template <class W>
void add_where(const std::int32_t* HWY_RESTRICT winner, std::int32_t index, const W* HWY_RESTRICT x, std::int64_t step,
               std::int64_t lanes, W* sum) {
  if (step == 1) {
    for (std::int64_t i = 0; i < lanes; ++i) sum[i] = winner[i] == index ? sum[i] + x[i] : sum[i];
  } else {
    for (std::int64_t i = 0; i < lanes; ++i) sum[i * step] += winner[i] == index ? x[i] : W(0);  // sums are never -0
  }
}

// Which element of each window wins, counted row by row among those inside.
template <class T>
void find_winners(const Planes<const T>& x, const Window& w, Wide<T>* HWY_RESTRICT best, std::int32_t* HWY_RESTRICT winner) {
  Wide<T> next[pool_lanes];
  std::int32_t index = 0;
  for (std::int64_t row = w.top; row < w.bottom; ++row)
    for (std::int64_t column = w.left; column < w.right; ++column, ++index) {
      load(x.at(w, row, column), x.step, w.lanes, next);
      if (index == 0) {
        for (std::int64_t i = 0; i < w.lanes; ++i) best[i] = next[i], winner[i] = 0;
        continue;
      }
      for (std::int64_t i = 0; i < w.lanes; ++i) {
        const bool better = (next[i] > best[i]) | ((next[i] != next[i]) & (best[i] == best[i]));
        best[i] = better ? next[i] : best[i];
        winner[i] = better ? index : winner[i];
      }
    }
}

template <class T>
void max_of_units(const Pooling& s, const View& values, const View& x, const View& out, std::int64_t first, std::int64_t last) {
  const Lanes along = lanes_along(s, x);
  const Planes<const T> from(values, along, s.stride[1]), compared(x, along, s.stride[1]);
  const Planes<T> to(out, along, 1);
  const bool itself = values.data == x.data && values.strides() == x.strides();
  for_windows(s, along, first, last, [&](const Window& w) HWY_ATTR {
    if constexpr (ChannelVectors<T>::exist)
      if (itself && to.step == 1 && ChannelVectors<T>::fit(w, along))
        return max_of_channels<T>(compared, w, to.at(w, w.oh, w.ow));
    Wide<T> best[pool_lanes];
    std::int32_t winner[pool_lanes];
    find_winners<T>(compared, w, best, winner);
    if (!itself) {
      Wide<T> next[pool_lanes];
      std::int32_t index = 0;
      for (std::int64_t row = w.top; row < w.bottom; ++row)
        for (std::int64_t column = w.left; column < w.right; ++column, ++index) {
          load(from.at(w, row, column), from.step, w.lanes, next);
          for (std::int64_t i = 0; i < w.lanes; ++i) best[i] = winner[i] == index ? next[i] : best[i];
        }
    }
    store(best, to.step, w.lanes, to.at(w, w.oh, w.ow));
  });
}

// Of several windows that share elements, an element meets the first one first: along a row of one window from right to left.
template <class T>
void max_back_of_units(const Pooling& s, const View& grad, const View& x, const View& sums, std::int64_t first,
                       std::int64_t last) {
  const Lanes along = lanes_along(s, x);
  const Planes<const T> from(grad, along, 1), compared(x, along, s.stride[1]);
  const Planes<Wide<T>> to(sums, along, s.stride[1]);
  for_windows(s, along, first, last, [&](const Window& w) HWY_ATTR {
    if constexpr (ChannelVectors<T>::exist)
      if (from.step == 1 && to.step == 1 && ChannelVectors<T>::fit(w, along))
        return max_back_of_channels<T>(compared, w, from.at(w, w.oh, w.ow), to);
    Wide<T> best[pool_lanes], gradient[pool_lanes];
    std::int32_t winner[pool_lanes];
    find_winners<T>(compared, w, best, winner);
    load(from.at(w, w.oh, w.ow), from.step, w.lanes, gradient);
    for (std::int64_t row = w.top; row < w.bottom; ++row)
      for (std::int64_t column = w.right; column-- > w.left;) {
        const auto index = static_cast<std::int32_t>((row - w.top) * (w.right - w.left) + column - w.left);
        add_where(winner, index, gradient, to.step, w.lanes, to.at(w, row, column));
      }
  });
}

template <class T>
void mean_of_units(const Pooling& s, const View& x, const View& out, std::int64_t first, std::int64_t last) {
  const Lanes along = lanes_along(s, x);
  const Planes<const T> from(x, along, s.stride[1]);
  const Planes<T> to(out, along, 1);
  for_windows(s, along, first, last, [&](const Window& w) HWY_ATTR {
    const auto divisor = static_cast<Wide<T>>(divisor_of(s, w));
    if constexpr (ChannelVectors<T>::exist)
      if (to.step == 1 && ChannelVectors<T>::fit(w, along)) return mean_of_channels<T>(from, w, divisor, to.at(w, w.oh, w.ow));
    Wide<T> sum[pool_lanes] = {}, next[pool_lanes];
    for (std::int64_t row = w.top; row < w.bottom; ++row)
      for (std::int64_t column = w.left; column < w.right; ++column) {
        load(from.at(w, row, column), from.step, w.lanes, next);
        for (std::int64_t i = 0; i < w.lanes; ++i) sum[i] += next[i];
      }
    for (std::int64_t i = 0; i < w.lanes; ++i) sum[i] /= divisor;
    store(sum, to.step, w.lanes, to.at(w, w.oh, w.ow));
  });
}

template <class T>
void mean_back_of_units(const Pooling& s, const View& grad, const View& sums, std::int64_t first, std::int64_t last) {
  const Lanes along = lanes_along(s, sums);
  const Planes<const T> from(grad, along, 1);
  const Planes<Wide<T>> to(sums, along, s.stride[1]);
  for_windows(s, along, first, last, [&](const Window& w) HWY_ATTR {
    const auto divisor = static_cast<Wide<T>>(divisor_of(s, w));
    if constexpr (ChannelVectors<T>::exist)
      if (from.step == 1 && ChannelVectors<T>::fit(w, along))
        return mean_back_of_channels<T>(w, from.at(w, w.oh, w.ow), divisor, to);
    Wide<T> share[pool_lanes];
    load(from.at(w, w.oh, w.ow), from.step, w.lanes, share);
    for (std::int64_t i = 0; i < w.lanes; ++i) share[i] /= divisor;
    for (std::int64_t row = w.top; row < w.bottom; ++row)
      for (std::int64_t column = w.right; column-- > w.left;) {
        Wide<T>* sum = to.at(w, row, column);
        if (to.step == 1) {
          for (std::int64_t i = 0; i < w.lanes; ++i) sum[i] += share[i];
        } else {
          for (std::int64_t i = 0; i < w.lanes; ++i) sum[i * to.step] += share[i];
        }
      }
  });
}

void max_units(const Pooling& s, const View& values, const View& x, const View& out, std::int64_t first, std::int64_t last) {
  with_float(x.dtype(), [&]<class T>(T) HWY_ATTR { max_of_units<T>(s, values, x, out, first, last); });
}
void max_back_units(const Pooling& s, const View& grad, const View& x, const View& sums, std::int64_t first, std::int64_t last) {
  with_float(x.dtype(), [&]<class T>(T) HWY_ATTR { max_back_of_units<T>(s, grad, x, sums, first, last); });
}
void mean_units(const Pooling& s, const View& x, const View& out, std::int64_t first, std::int64_t last) {
  with_float(x.dtype(), [&]<class T>(T) HWY_ATTR { mean_of_units<T>(s, x, out, first, last); });
}
void mean_back_units(const Pooling& s, const View& grad, const View& sums, std::int64_t first, std::int64_t last) {
  with_float(grad.dtype(), [&]<class T>(T) HWY_ATTR { mean_back_of_units<T>(s, grad, sums, first, last); });
}

}  // namespace regrow::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regrow::kernels {
namespace {

HWY_EXPORT(max_units);
HWY_EXPORT(max_back_units);
HWY_EXPORT(mean_units);
HWY_EXPORT(mean_back_units);

constexpr double least_elements = 1 << 16;  // that a thread is woken for

// body(first, last) for all units, on several threads.
template <class Body>
void for_units(const Pooling& s, const View& image, Body&& body) {
  const std::int64_t planes = lanes_along(s, image) == Lanes::channels ? pool_lanes : 1;
  const std::int64_t units = s.batch * ((s.channels + planes - 1) / planes);
  const double elements = static_cast<double>(s.batch * s.channels * s.out[0] * s.out[1] * s.area());
  const int parts = parts_for(elements, least_elements);
  for_parts(parts, [&](int index) { body(cut(units, parts, index), cut(units, parts, index + 1)); });
}

// Zeros to add up in: `out` itself, or f32 in the workspace, rounded at the end.
template <class Body>
void add_up(const View& out, std::span<std::byte> workspace, Body&& body) {
  const bool short_type = size_of(out.dtype()) == 2;
  Desc wide = *out.desc;
  if (short_type) wide.dtype = DType::f32;
  const View sums{&wide, short_type ? workspace.data() : out.data};
  require(!short_type || workspace.size() >= wide.bytes(), "the workspace has {} bytes, {} are needed", workspace.size(),
          wide.bytes());
  std::fill_n(sums.data, wide.bytes(), std::byte{0});
  body(sums);
  if (short_type) convert(sums, out);
}

}  // namespace

void max_pool(const Pooling& s, const View& values, const View& x, const View& out) {
  for_units(s, x, [&](std::int64_t first, std::int64_t last) {
    HWY_DYNAMIC_DISPATCH(max_units)(s, values, x, out, first, last);
  });
}

void max_pool_back(const Pooling& s, const View& grad, const View& x, const View& out, std::span<std::byte> workspace) {
  add_up(out, workspace, [&](const View& sums) {
    for_units(s, x, [&](std::int64_t first, std::int64_t last) {
      HWY_DYNAMIC_DISPATCH(max_back_units)(s, grad, x, sums, first, last);
    });
  });
}

void mean_pool(const Pooling& s, const View& x, const View& out) {
  for_units(s, x, [&](std::int64_t first, std::int64_t last) { HWY_DYNAMIC_DISPATCH(mean_units)(s, x, out, first, last); });
}

void mean_pool_back(const Pooling& s, const View& grad, const View& out, std::span<std::byte> workspace) {
  add_up(out, workspace, [&](const View& sums) {
    for_units(s, sums, [&](std::int64_t first, std::int64_t last) {
      HWY_DYNAMIC_DISPATCH(mean_back_units)(s, grad, sums, first, last);
    });
  });
}

std::size_t pool_back_workspace(const Desc& out) {
  return size_of(out.dtype) == 2 ? static_cast<std::size_t>(out.count()) * sizeof(float) : 0;
}

}  // namespace regrow::kernels
#endif
