// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/interpolation.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "regrow/kernels/convert.h"
#include "regrow/kernels/element_types.h"
#include "regrow/kernels/parallel.h"
#include "regrow/kernels/workspace.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/interpolation.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "regrow/kernels/targets.inc"

#ifndef REGROW_KERNELS_INTERPOLATION_ONCE
#define REGROW_KERNELS_INTERPOLATION_ONCE
namespace regrow::kernels {

// Which two pixels one is made of, and the share of the second.
struct Mix {
  std::int64_t first = 0, second = 0;
  double share = 0;
};

// Resampling between a `small` image, which is read or added to, and a `large` one; sizes may be in any relation.
struct Resampling {
  View small, large;
  const Mix *rows = nullptr, *columns = nullptr;  // of the large image's
  bool bilinear = false;
  std::int64_t lanes = 1;  // neighbouring channels that are done together
  std::int64_t units_an_image() const { return (small.shape()[1] + lanes - 1) / lanes; }
};

// A tensor (n, c, h, w) with its strides at hand.
template <class T>
struct PixelMap {
  T* data;
  std::int64_t n, c, h, w;
  explicit PixelMap(const View& view)
      : data(view.as<T>()), n(view.strides()[0]), c(view.strides()[1]), h(view.strides()[2]), w(view.strides()[3]) {}
  T* plane(std::int64_t image, std::int64_t channel) const { return data + image * n + channel * c; }
};

}  // namespace regrow::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace regrow::kernels::HWY_NAMESPACE {

// The loops below are plain, and become vectors along the channels.

template <class T>
void mix_pixels(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, const T* HWY_RESTRICT c, const T* HWY_RESTRICT d, Wide<T> x,
                Wide<T> y, std::int64_t lanes, T* HWY_RESTRICT to) {
  using W = Wide<T>;
  for (std::int64_t i = 0; i < lanes; ++i) {
    const W top = static_cast<W>(a[i]) * (W(1) - x) + static_cast<W>(b[i]) * x;
    const W bottom = static_cast<W>(c[i]) * (W(1) - x) + static_cast<W>(d[i]) * x;
    to[i] = static_cast<T>(top * (W(1) - y) + bottom * y);
  }
}

template <class T>
HWY_INLINE void copy_pixel(const T* HWY_RESTRICT from, std::int64_t lanes, T* HWY_RESTRICT to) {
  std::int64_t i = 0;
  for (; i + 16 <= lanes; i += 16) std::memcpy(to + i, from + i, 16 * sizeof(T));  // a vector or two, without a call
  for (; i < lanes; ++i) to[i] = from[i];
}

template <class T>
void add_share(const T* HWY_RESTRICT grad, Wide<T> share, std::int64_t lanes, Wide<T>* HWY_RESTRICT sum) {
  for (std::int64_t i = 0; i < lanes; ++i) sum[i] += static_cast<Wide<T>>(grad[i]) * share;
}

// f(plane of the small image, plane of the large one, how many channels) for units [first, last).
template <class S, class L, class F>
void for_planes(const Resampling& r, std::int64_t first, std::int64_t last, F&& f) {
  const PixelMap<S> small(r.small);
  const PixelMap<L> large(r.large);
  const std::int64_t channels = r.small.shape()[1];
  for (std::int64_t unit = first; unit < last; ++unit) {
    const std::int64_t image = unit / r.units_an_image(), channel = unit % r.units_an_image() * r.lanes;
    f(small.plane(image, channel), large.plane(image, channel), std::min(r.lanes, channels - channel), small, large);
  }
}

template <class T>
void forward(const Resampling& r, std::int64_t first, std::int64_t last) {
  using W = Wide<T>;
  for_planes<const T, T>(r, first, last, [&](const T* from, T* to, std::int64_t lanes, const auto& s, const auto& l) HWY_ATTR {
    for (std::int64_t y = 0; y < r.large.shape()[2]; ++y) {
      const Mix& row = r.rows[y];
      if (!r.bilinear && lanes == l.w && y > 0 && row.first == r.rows[y - 1].first) {  // the row above once more
        std::copy_n(to + (y - 1) * l.h, l.w * r.large.shape()[3], to + y * l.h);
        continue;
      }
      const T *top = from + row.first * s.h, *bottom = from + row.second * s.h;
      for (std::int64_t x = 0; x < r.large.shape()[3]; ++x) {
        const Mix& column = r.columns[x];
        T* pixel = to + y * l.h + x * l.w;
        if (!r.bilinear) {
          copy_pixel(top + column.first * s.w, lanes, pixel);
          continue;
        }
        const std::int64_t left = column.first * s.w, right = column.second * s.w;
        mix_pixels(top + left, top + right, bottom + left, bottom + right, static_cast<W>(column.share),
                   static_cast<W>(row.share), lanes, pixel);
      }
    }
  });
}

template <class T>
void backward(const Resampling& r, std::int64_t first, std::int64_t last) {
  using W = Wide<T>;
  for_planes<W, const T>(r, first, last, [&](W* sums, const T* grad, std::int64_t lanes, const auto& s, const auto& l) HWY_ATTR {
    for (std::int64_t y = 0; y < r.large.shape()[2]; ++y) {
      const Mix& row = r.rows[y];
      W *top = sums + row.first * s.h, *bottom = sums + row.second * s.h;
      const auto low = static_cast<W>(row.share);
      for (std::int64_t x = 0; x < r.large.shape()[3]; ++x) {
        const Mix& column = r.columns[x];
        const T* pixel = grad + y * l.h + x * l.w;
        const std::int64_t left = column.first * s.w, right = column.second * s.w;
        if (!r.bilinear) {
          add_share<T>(pixel, W(1), lanes, top + left);
          continue;
        }
        const auto side = static_cast<W>(column.share);
        add_share<T>(pixel, (W(1) - low) * (W(1) - side), lanes, top + left);
        add_share<T>(pixel, (W(1) - low) * side, lanes, top + right);
        add_share<T>(pixel, low * (W(1) - side), lanes, bottom + left);
        add_share<T>(pixel, low * side, lanes, bottom + right);
      }
    }
  });
}

void forward_units(const Resampling& r, std::int64_t first, std::int64_t last) {
  with_float(r.large.dtype(), [&]<class T>(T) HWY_ATTR { forward<T>(r, first, last); });
}
void backward_units(const Resampling& r, std::int64_t first, std::int64_t last) {
  with_float(r.large.dtype(), [&]<class T>(T) HWY_ATTR { backward<T>(r, first, last); });
}

}  // namespace regrow::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regrow::kernels {
namespace {

HWY_EXPORT(forward_units);
HWY_EXPORT(backward_units);

constexpr std::int64_t most_lanes = 64;
constexpr std::int64_t least_pixels = 1 << 15;  // that a thread is woken for

void fill_mixes(const Interpolation& how, std::int64_t in, std::int64_t out, Mix* mixes) {
  for (std::int64_t i = 0; i < out; ++i) {
    if (!how.bilinear) {
      mixes[i].first = mixes[i].second = i * in / out;
      continue;
    }
    const auto position = static_cast<double>(i), from = static_cast<double>(in), to = static_cast<double>(out);
    const double at = how.align_corners ? (out > 1 ? position * ((from - 1) / (to - 1)) : 0)
                                        : std::max((position + 0.5) * (from / to) - 0.5, 0.0);
    mixes[i].first = std::min(static_cast<std::int64_t>(at), in - 1);
    mixes[i].second = std::min(mixes[i].first + 1, in - 1);
    mixes[i].share = at - static_cast<double>(mixes[i].first);
  }
}

struct Tables {
  Mix *rows, *columns;
  Tables(const Desc& large, Workspace& workspace)
      : rows(workspace.take_array<Mix>(large.shape[2])), columns(workspace.take_array<Mix>(large.shape[3])) {}
};

template <class Body>
void resample(const Interpolation& how, const View& small, const View& large, const Tables& tables, Body&& body) {
  for (std::size_t axis : {2, 3})
    fill_mixes(how, small.shape()[axis], large.shape()[axis], axis == 2 ? tables.rows : tables.columns);
  Resampling r{.small = small, .large = large, .rows = tables.rows, .columns = tables.columns, .bilinear = how.bilinear};
  if (small.strides()[1] == 1 && large.strides()[1] == 1) r.lanes = most_lanes;
  const std::int64_t plane = large.shape()[2] * large.shape()[3] * std::min(r.lanes, small.shape()[1]);
  parallel_for(small.shape()[0] * r.units_an_image(), std::max<std::int64_t>(1, least_pixels / plane),
               [&](std::int64_t first, std::int64_t last) { body(r, first, last); });
}

// 16-bit types are added up in f32, in the workspace.
bool adds_aside(const Desc& out) { return size_of(out.dtype) == 2; }
Desc wide_sums(const Desc& out) {
  Desc wide = out;
  if (adds_aside(out)) wide.dtype = DType::f32;
  return wide;
}

}  // namespace

std::size_t interpolate_workspace(const Desc&, const Desc& out) {
  Workspace workspace;
  (void)Tables(out, workspace);
  return workspace.used();
}

void interpolate(const Interpolation& how, const View& x, const View& out, std::span<std::byte> bytes) {
  if (out.count() == 0) return;
  Workspace workspace(bytes);
  resample(how, x, out, Tables(*out.desc, workspace), [](const Resampling& r, std::int64_t first, std::int64_t last) {
    HWY_DYNAMIC_DISPATCH(forward_units)(r, first, last);
  });
}

std::size_t interpolate_back_workspace(const Desc& grad, const Desc& out) {
  Workspace workspace;
  (void)Tables(grad, workspace);
  if (adds_aside(out)) workspace.take(wide_sums(out).bytes());
  return workspace.used();
}

void interpolate_back(const Interpolation& how, const View& grad, const View& out, std::span<std::byte> bytes) {
  if (out.count() == 0) return;
  Workspace workspace(bytes);
  const Tables tables(*grad.desc, workspace);
  const Desc wide = wide_sums(*out.desc);
  const View sums{&wide, adds_aside(*out.desc) ? workspace.take(wide.bytes()) : out.data};
  std::fill_n(sums.data, wide.bytes(), std::byte{0});
  if (grad.count() > 0)
    resample(how, sums, grad, tables, [](const Resampling& r, std::int64_t first, std::int64_t last) {
      HWY_DYNAMIC_DISPATCH(backward_units)(r, first, last);
    });
  if (adds_aside(*out.desc)) convert(sums, out);
}

}  // namespace regrow::kernels
#endif
