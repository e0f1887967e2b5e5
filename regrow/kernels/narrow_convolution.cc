// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/narrow_convolution.h"

#include <algorithm>

#include "regrow/kernels/parts.h"
#include "regrow/kernels/workspace.h"

#include "regrow/kernels/targets.inc"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/narrow_convolution.cc"
#include <hwy/foreach_target.h>

#include "regrow/kernels/simd_loop.inc"

#ifndef REGROW_KERNELS_NARROW_CONVOLUTION_ONCE
#define REGROW_KERNELS_NARROW_CONVOLUTION_ONCE
namespace regrow::kernels {

// One image with its border of zeros, channel by channel or pixel by pixel; where in it each element of a window lies, and the
// weights in that order, each of all channels of the result, padded to whole vectors.
struct NarrowImage {
  const Convolution& s;
  bool interleaved = false;
  const float* pixels = nullptr;
  const std::int64_t* places = nullptr;
  const float* weight = nullptr;
  float* out = nullptr;

  std::int64_t window() const { return s.in_channels * s.kernel[0] * s.kernel[1]; }
  std::int64_t height() const { return s.in[0] + 2 * s.padding[0]; }
  std::int64_t width() const { return s.in[1] + 2 * s.padding[1]; }
  std::int64_t channels() const { return (s.out_channels + 15) / 16 * 16; }  // of the result, padded
  std::int64_t pixel_step() const { return interleaved ? s.in_channels : 1; }
  std::int64_t channel_step() const { return interleaved ? 1 : height() * width(); }
  std::int64_t place(std::int64_t c, std::int64_t y, std::int64_t x) const {
    return c * channel_step() + (y * width() + x) * pixel_step();
  }
};

}  // namespace regrow::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace regrow::kernels::HWY_NAMESPACE {

// `count` neighbours along a row of the result, one vector of channels. `known` is their distance in the image, or 0.
template <int count, std::int64_t known>
HWY_INLINE void neighbours(const NarrowImage& m, std::int64_t row, std::int64_t column, std::int64_t channel) {
  const hn::ScalableTag<float> d;
  const Convolution& s = m.s;
  const std::int64_t step = known != 0 ? known : s.stride[1] * m.pixel_step();
  hn::Vec<decltype(d)> sum[count];
  for (int p = 0; p < count; ++p) sum[p] = hn::Zero(d);
  const float* corner = m.pixels + m.place(0, row * s.stride[0], column * s.stride[1]);
  const float* weight = m.weight + channel;
  const std::int64_t window = m.window(), channels = m.channels();
  for (std::int64_t i = 0; i < window; ++i, weight += channels) {
    const float* pixel = corner + m.places[i];
    const auto w = hn::LoadU(d, weight);
    for (int p = 0; p < count; ++p) sum[p] = hn::MulAdd(hn::Set(d, pixel[p * step]), w, sum[p]);
  }
  float* out = m.out + (row * s.out[1] + column) * s.out_channels + channel;
  const auto left = static_cast<std::size_t>(s.out_channels - channel);
  for (int p = 0; p < count; ++p, out += s.out_channels) {
    if (left >= hn::Lanes(d))
      hn::StoreU(sum[p], d, out);
    else
      store_part(sum[p], d, out, left);
  }
}

constexpr int most = HWY_TARGET <= HWY_AVX3 ? 16 : 8;  // as many sums as registers hold

template <std::int64_t known>
void convolve_rows(const NarrowImage& m) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  for (std::int64_t row = 0; row < m.s.out[0]; ++row)
    for (std::int64_t channel = 0; channel < m.s.out_channels; channel += lanes) {
      std::int64_t column = 0;
      for (; column + most <= m.s.out[1]; column += most) neighbours<most, known>(m, row, column, channel);
      if (column > 0 && column < m.s.out[1]) {  // the last ones, some of them twice
        neighbours<most, known>(m, row, m.s.out[1] - most, channel);
        continue;
      }
      for (; column + 4 <= m.s.out[1]; column += 4) neighbours<4, known>(m, row, column, channel);
      for (; column < m.s.out[1]; ++column) neighbours<1, known>(m, row, column, channel);
    }
}

void convolve_image(const NarrowImage& m) {
  switch (m.s.stride[1] * m.pixel_step()) {
    case 1: return convolve_rows<1>(m);
    case 2: return convolve_rows<2>(m);
    case 3: return convolve_rows<3>(m);
    case 4: return convolve_rows<4>(m);
    case 6: return convolve_rows<6>(m);
    default: return convolve_rows<0>(m);
  }
}

}  // namespace regrow::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regrow::kernels {
namespace {

HWY_EXPORT(convolve_image);

struct NarrowScratch {
  float *pixels, *weight;
  std::int64_t* places;
  NarrowScratch(const NarrowImage& m, Workspace& workspace)
      : pixels(workspace.take_array<float>(m.s.in_channels * m.height() * m.width())),
        weight(workspace.take_array<float>(m.window() * m.channels())),
        places(workspace.take_array<std::int64_t>(m.window())) {}
};

// The border stays zero from image to image.
void fill_inside(const NarrowImage& m, const View& image, std::int64_t n, float* pixels) {
  const Convolution& s = m.s;
  const Strides& step = image.strides();
  const float* from = image.as<const float>() + n * step[0];
  for (std::int64_t y = 0; y < s.in[0]; ++y) {
    float* row = pixels + m.place(0, y + s.padding[0], s.padding[1]);
    if (m.interleaved) {
      std::copy_n(from + y * step[2], s.in[1] * s.in_channels, row);
      continue;
    }
    for (std::int64_t c = 0; c < s.in_channels; ++c)
      for (std::int64_t x = 0; x < s.in[1]; ++x) row[c * m.channel_step() + x] = from[c * step[1] + y * step[2] + x * step[3]];
  }
}

// Along the window pixel by pixel, whatever the layout of the image: sums have one order.
void prepare_window(const NarrowImage& m, const float* weight, const NarrowScratch& scratch) {
  const Convolution& s = m.s;
  std::int64_t i = 0;
  for (std::int64_t y = 0; y < s.kernel[0]; ++y)
    for (std::int64_t x = 0; x < s.kernel[1]; ++x)
      for (std::int64_t c = 0; c < s.in_channels; ++c, ++i) {
        scratch.places[i] = m.place(c, y * s.dilation[0], x * s.dilation[1]);
        const float* from = weight + (c * s.kernel[0] + y) * s.kernel[1] + x;
        float* to = scratch.weight + i * m.channels();
        for (std::int64_t o = 0; o < m.channels(); ++o) to[o] = o < s.out_channels ? from[o * m.window()] : 0;
      }
}

}  // namespace

bool is_narrow(const Convolution& s) {
  return s.groups == 1 && s.in_channels <= 4 && s.out_channels >= 8 && s.kernel[0] * s.kernel[1] <= 64;
}

std::size_t narrow_scratch(const Convolution& s) {
  Workspace workspace;
  (void)NarrowScratch({.s = s}, workspace);
  return workspace.used();
}

void narrow_convolution(const Convolution& s, const View& image, const View& weight, const View& out, int parts,
                        std::byte* scratch) {
  const std::size_t piece = narrow_scratch(s);
  for_parts(parts, [&](int index) {
    NarrowImage m{.s = s, .interleaved = s.in_channels > 1 && is_channels_last(image.shape(), image.strides())};
    Workspace workspace({scratch + piece * static_cast<std::size_t>(index), piece});
    const NarrowScratch own(m, workspace);
    m.pixels = own.pixels, m.places = own.places, m.weight = own.weight;
    prepare_window(m, weight.as<const float>(), own);
    std::fill_n(own.pixels, s.in_channels * m.height() * m.width(), 0.f);
    for (std::int64_t n = cut(s.batch, parts, index); n < cut(s.batch, parts, index + 1); ++n) {
      fill_inside(m, image, n, own.pixels);
      m.out = out.as<float>() + n * s.out[0] * s.out[1] * s.out_channels;
      HWY_DYNAMIC_DISPATCH(convolve_image)(m);
    }
  });
}

}  // namespace regrow::kernels
#endif
