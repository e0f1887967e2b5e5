// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/depthwise_convolution.h"

#include <algorithm>
#include <array>

#include "regrow/kernels/parts.h"

#include "regrow/kernels/targets.inc"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/depthwise_convolution.cc"
#include <hwy/foreach_target.h>

#include "regrow/kernels/simd_loop.inc"

#ifndef REGROW_KERNELS_DEPTHWISE_CONVOLUTION_ONCE
#define REGROW_KERNELS_DEPTHWISE_CONVOLUTION_ONCE
namespace regrow::kernels {

constexpr std::int64_t widest_window = 16;

// Of each column of the window, the columns of the result at which it meets the image.
struct MetColumns {
  std::array<std::int64_t, widest_window> begin{}, end{};
  explicit MetColumns(const Convolution& s) {
    for (std::int64_t tap = 0; tap < s.kernel[1]; ++tap) {
      const auto t = static_cast<std::size_t>(tap);
      const std::int64_t first = tap * s.dilation[1] - s.padding[1], last = s.in[1] - 1 - first;
      begin[t] = std::min(s.out[1], first >= 0 ? 0 : (-first + s.stride[1] - 1) / s.stride[1]);
      end[t] = last < 0 ? begin[t] : std::max(begin[t], std::min(s.out[1], last / s.stride[1] + 1));
    }
  }
};

// A row of the result and the first of the rows of the image that a window meets, from the first of sixteen channels on.
struct DepthwiseRow {
  const Convolution& s;
  const MetColumns& met;
  const float *image, *result;
  std::int64_t rows;  // of the window that meet the image
  double* sums;       // of their first element
};

}  // namespace regrow::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace regrow::kernels::HWY_NAMESPACE {

// Sums along a row for `rows` x `taps` neighbours of the window in f32, each added to its f64.
template <int rows, int taps>
HWY_INLINE void add_vector(const DepthwiseRow& row, std::int64_t ky, std::int64_t kx, std::int64_t channel) {
  const hn::CappedTag<float, depthwise_channels> d;
  constexpr std::int64_t lanes = hn::MaxLanes(d);
  const Convolution& s = row.s;
  const std::int64_t channels = s.out_channels, tap_step = s.dilation[1] * channels,
                     row_step = s.dilation[0] * s.in[1] * channels;
  const float *image = row.image + ky * row_step + (kx * s.dilation[1] - s.padding[1]) * channels + channel,
              *result = row.result + channel;
  hn::Vec<decltype(d)> sum[rows][taps];
  for (int r = 0; r < rows; ++r)
    for (int t = 0; t < taps; ++t) sum[r][t] = hn::Zero(d);
  const auto add = [&](std::int64_t x, auto meets) HWY_ATTR {
    const float* pixel = image + x * s.stride[1] * channels;
    const auto slope = hn::LoadU(d, result + x * channels);
    for (int t = 0; t < taps; ++t)
      if (meets(t))
        for (int r = 0; r < rows; ++r)
          sum[r][t] = hn::MulAdd(hn::LoadU(d, pixel + r * row_step + t * tap_step), slope, sum[r][t]);
  };
  const std::int64_t *from = row.met.begin.data() + kx, *to_end = row.met.end.data() + kx;
  const auto partly = [&](std::int64_t x) HWY_ATTR { add(x, [&](int t) { return x >= from[t] && x < to_end[t]; }); };
  const std::int64_t begin = *std::max_element(from, from + taps);  // from there to `end` all taps meet the image
  const std::int64_t end = std::max(begin, *std::min_element(to_end, to_end + taps));
  for (std::int64_t x = 0; x < begin; ++x) partly(x);
  for (std::int64_t x = begin; x < end; ++x) add(x, [](int) { return true; });
  for (std::int64_t x = end; x < s.out[1]; ++x) partly(x);
  for (int r = 0; r < rows; ++r)
    for (int t = 0; t < taps; ++t) {
      HWY_ALIGN float row_sum[lanes];
      hn::Store(sum[r][t], d, row_sum);
      double* to = row.sums + ((ky + r) * s.kernel[1] + kx + t) * depthwise_channels + channel;
      for (std::int64_t i = 0; i < lanes; ++i) to[i] += static_cast<double>(row_sum[i]);
    }
}

template <int rows, int taps>
void add_part(const DepthwiseRow& row, std::int64_t ky, std::int64_t kx) {
  constexpr std::int64_t lanes = hn::MaxLanes(hn::CappedTag<float, depthwise_channels>());
  for (std::int64_t channel = 0; channel < depthwise_channels; channel += lanes) add_vector<rows, taps>(row, ky, kx, channel);
}

// As many sums as registers hold: the window goes in parts of at most three by three.
void add_row(const DepthwiseRow& row) {
  for (std::int64_t ky = 0; ky < row.rows; ky += 3)
    for (std::int64_t kx = 0; kx < row.s.kernel[1];) {
      const bool wide = kx + 3 <= row.s.kernel[1];
      switch (std::min<std::int64_t>(3, row.rows - ky)) {
        case 3: wide ? add_part<3, 3>(row, ky, kx) : add_part<3, 1>(row, ky, kx); break;
        case 2: wide ? add_part<2, 3>(row, ky, kx) : add_part<2, 1>(row, ky, kx); break;
        default: wide ? add_part<1, 3>(row, ky, kx) : add_part<1, 1>(row, ky, kx);
      }
      kx += wide ? 3 : 1;
    }
}

}  // namespace regrow::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regrow::kernels {
namespace {

HWY_EXPORT(add_row);

std::int64_t window_of(const Convolution& s) { return s.kernel[0] * s.kernel[1]; }

// A group of channels touches one line of a row in several, so the next row is fetched as a whole.
void fetch_row(const float* row, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += 16) __builtin_prefetch(row + i, 0, 2);
}

// Groups of sixteen channels [first, end); sums by group, element of the window and channel.
void sum_over_images(const Convolution& s, const float* image, const float* result, std::int64_t first, std::int64_t end,
                     double* sums) {
  const std::int64_t channels = s.out_channels, group_sums = window_of(s) * depthwise_channels;
  const MetColumns met(s);
  for (std::int64_t n = 0; n < s.batch; ++n)
    for (std::int64_t y = 0; y < s.out[0]; ++y) {
      const std::int64_t top = y * s.stride[0] - s.padding[0];
      const std::int64_t ky = top < 0 ? (-top + s.dilation[0] - 1) / s.dilation[0] : 0;
      const std::int64_t from = top + ky * s.dilation[0];
      if (from >= s.in[0]) continue;
      const std::int64_t rows = std::min(s.kernel[0] - ky, (s.in[0] - 1 - from) / s.dilation[0] + 1);
      const float *image_row = image + (n * s.in[0] + from) * s.in[1] * channels,
                  *result_row = result + (n * s.out[0] + y) * s.out[1] * channels;
      fetch_row(result_row + s.out[1] * channels, s.out[1] * channels);
      fetch_row(image_row + rows * s.in[1] * channels, s.in[1] * channels);
      for (std::int64_t g = first; g < end; ++g) {
        const std::int64_t channel = g * depthwise_channels;
        const DepthwiseRow row{s,
                               met,
                               image_row + channel,
                               result_row + channel,
                               rows,
                               sums + g * group_sums + ky * s.kernel[1] * depthwise_channels};
        HWY_DYNAMIC_DISPATCH(add_row)(row);
      }
    }
}

}  // namespace

bool is_depthwise(const Convolution& s) {
  return s.groups > 1 && s.groups == s.in_channels && s.groups == s.out_channels && s.groups % depthwise_channels == 0 &&
         s.kernel[1] <= widest_window;
}

std::size_t depthwise_scratch(const Convolution& s) {
  return static_cast<std::size_t>(s.out_channels * window_of(s)) * sizeof(double);
}

void depthwise_weight_gradient(const Convolution& s, const float* image, const float* result, float* weight, int parts,
                               std::byte* scratch) {
  const std::int64_t groups = s.groups / depthwise_channels, window = window_of(s), group_sums = window * depthwise_channels;
  for_parts(parts, [&](int index) {
    const std::int64_t first = cut(groups, parts, index), end = cut(groups, parts, index + 1);
    auto* sums = reinterpret_cast<double*>(scratch + static_cast<std::size_t>(index) * ((depthwise_scratch(s) + 63) / 64 * 64));
    std::fill(sums + first * group_sums, sums + end * group_sums, 0.0);
    sum_over_images(s, image, result, first, end, sums);
    for (std::int64_t c = first * depthwise_channels; c < end * depthwise_channels; ++c)
      for (std::int64_t k = 0; k < window; ++k) {
        const std::int64_t at = c / depthwise_channels * group_sums + k * depthwise_channels + c % depthwise_channels;
        weight[c * window + k] = static_cast<float>(sums[at]);
      }
  });
}

}  // namespace regrow::kernels
#endif
