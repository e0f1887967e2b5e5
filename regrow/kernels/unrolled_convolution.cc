// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/unrolled_convolution.h"

#include <algorithm>

#include "regrow/kernels/gemm.h"
#include "regrow/kernels/parts.h"

namespace regrow::kernels {
namespace {

// A tensor (n, c, h, w) with its strides at hand.
template <class T>
struct Image {
  explicit Image(const View& view)
      : data(view.as<T>()), n(view.strides()[0]), c(view.strides()[1]), h(view.strides()[2]), w(view.strides()[3]) {}
  T* data;
  std::int64_t n, c, h, w;
};

template <class T>
struct Passes {
  const Convolution& s;
  std::int64_t in_group = s.in_channels / s.groups;  // channels
  std::int64_t out_group = s.out_channels / s.groups;
  std::int64_t window = in_group * s.kernel[0] * s.kernel[1];

  // Calls f(element of the window, offset in the image or -1 in the padding) along one window, in the order of a row of the
  // weight.
  template <class Pixel, class F>
  void along_window(const Image<Pixel>& image, std::int64_t oh, std::int64_t ow, F&& f) const {
    std::int64_t at = 0;
    for (std::int64_t c = 0; c < in_group; ++c)
      for (std::int64_t kh = 0; kh < s.kernel[0]; ++kh) {
        const std::int64_t h = oh * s.stride[0] - s.padding[0] + kh * s.dilation[0];
        for (std::int64_t kw = 0; kw < s.kernel[1]; ++kw, ++at) {
          const std::int64_t w = ow * s.stride[1] - s.padding[1] + kw * s.dilation[1];
          const bool inside = h >= 0 && h < s.in[0] && w >= 0 && w < s.in[1];
          f(at, c * image.c + h * image.h + w * image.w, inside);
        }
      }
  }

  // The windows of one row of the result, one below the other.
  void unroll(const Image<const T>& image, std::int64_t n, std::int64_t group, std::int64_t oh, T* rows) const {
    const T* from = image.data + n * image.n + group * in_group * image.c;
    for (std::int64_t ow = 0; ow < s.out[1]; ++ow, rows += window)
      along_window(image, oh, ow,
                   [&](std::int64_t at, std::int64_t offset, bool inside) { rows[at] = inside ? from[offset] : T(0); });
  }

  template <class Pixel>
  static Pixel* row_of(const Image<Pixel>& result, std::int64_t n, std::int64_t channel, std::int64_t oh) {
    return result.data + n * result.n + channel * result.c + oh * result.h;
  }

  // Rows [first, last) of the results of all images.
  void results(const Image<const T>& image, const T* weight, const Image<T>& result, std::int64_t first, std::int64_t last,
               T* rows) const {
    for (std::int64_t row = first; row < last; ++row)
      for (std::int64_t g = 0; g < s.groups; ++g) {
        const std::int64_t n = row / s.out[0], oh = row % s.out[0];
        unroll(image, n, g, oh, rows);
        gemm(s.out[1], out_group, window, {rows, window, 1}, {weight + g * out_group * window, 1, window},
             {row_of(result, n, g * out_group, oh), result.w, result.c});
      }
  }

  // Gradients of the images [first, last), zero before.
  void images(const Image<const T>& result, const T* weight, const Image<T>& image, std::int64_t first, std::int64_t last,
              T* rows) const {
    for (std::int64_t n = first; n < last; ++n)
      for (std::int64_t g = 0; g < s.groups; ++g)
        for (std::int64_t oh = 0; oh < s.out[0]; ++oh) {
          gemm(s.out[1], window, out_group, {row_of(result, n, g * out_group, oh), result.w, result.c},
               {weight + g * out_group * window, window, 1}, Matrix<T>{rows, window, 1});
          T* to = image.data + n * image.n + g * in_group * image.c;
          const T* from = rows;
          for (std::int64_t ow = 0; ow < s.out[1]; ++ow, from += window)
            along_window(image, oh, ow, [&](std::int64_t at, std::int64_t offset, bool inside) {
              if (inside) to[offset] += from[at];
            });
        }
  }

  // Rows [first, last) of the weight's gradient: one of each channel of the result.
  void weights(const Image<const T>& image, const Image<const T>& result, T* weight, std::int64_t first, std::int64_t last,
               T* rows) const {
    std::fill(weight + first * window, weight + last * window, T(0));
    for (std::int64_t g = 0; g < s.groups; ++g) {
      const std::int64_t begin = std::max(first, g * out_group), end = std::min(last, (g + 1) * out_group);
      if (begin >= end) continue;
      for (std::int64_t n = 0; n < s.batch; ++n)
        for (std::int64_t oh = 0; oh < s.out[0]; ++oh) {
          unroll(image, n, g, oh, rows);
          gemm(end - begin, window, s.out[1], {row_of(result, n, begin, oh), result.c, result.w},
               Matrix<const T>{rows, window, 1}, Matrix<T>{weight + begin * window, window, 1}, true);
        }
    }
  }
};

}  // namespace

template <class T>
void unrolled_convolution(ConvolutionPass pass, const Convolution& s, const View& a, const View& b, const View& out, int parts,
                          std::byte* scratch) {
  const Passes<T> passes{s};
  const std::size_t piece = (unrolled_scratch<T>(s) + 63) / 64 * 64;
  const std::int64_t count = pass == ConvolutionPass::result  ? s.batch * s.out[0]
                             : pass == ConvolutionPass::image ? s.batch
                                                              : s.out_channels;
  if (pass == ConvolutionPass::image) std::fill_n(out.as<T>(), out.count(), T(0));  // dense
  for_parts(parts, [&](int index) {
    const std::int64_t first = cut(count, parts, index), last = cut(count, parts, index + 1);
    T* rows = reinterpret_cast<T*>(scratch + piece * static_cast<std::size_t>(index));
    switch (pass) {
      case ConvolutionPass::result:
        return passes.results(Image<const T>(a), b.as<const T>(), Image<T>(out), first, last, rows);
      case ConvolutionPass::image:
        return passes.images(Image<const T>(a), b.as<const T>(), Image<T>(out), first, last, rows);
      case ConvolutionPass::weight:
        return passes.weights(Image<const T>(a), Image<const T>(b), out.as<T>(), first, last, rows);
    }
  });
}

template void unrolled_convolution<float>(ConvolutionPass, const Convolution&, const View&, const View&, const View&, int,
                                          std::byte*);
template void unrolled_convolution<double>(ConvolutionPass, const Convolution&, const View&, const View&, const View&, int,
                                           std::byte*);

}  // namespace regrow::kernels
