// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/vision.h"

#include <cmath>

#include "regrow/frontend/apply.h"
#include "regrow/frontend/create.h"

namespace regrow {
namespace {

struct Axis {
  std::int64_t size = 0;   // of the result
  std::int64_t extra = 0;  // rows of zeros behind x: the result is so large that a convolution of it has more rows than x
};

Axis transposed_axis(std::int64_t in, std::int64_t window, std::size_t i, const ConvTranspose2dOptions& o, Site site) {
  const auto at = [i](const Sizes& sizes) { return i < sizes.size() ? sizes[i] : sizes.back(); };
  const std::int64_t stride = at(o.stride), dilation = at(o.dilation), more = at(o.output_padding);
  if (stride < 1 || dilation < 1)
    fail_at(site, "conv_transpose2d: stride {} and dilation {} must be at least 1", stride, dilation);
  if (more < 0 || (more >= stride && more >= dilation))
    fail_at(site, "conv_transpose2d: output_padding {} must be less than stride {} or dilation {}", more, stride, dilation);
  Axis axis{.size = (in - 1) * stride - 2 * at(o.padding) + dilation * (window - 1) + more + 1, .extra = more / stride};
  if (axis.size < 1) fail_at(site, "conv_transpose2d: nothing is left of {} rows: the padding is {}", in, at(o.padding));
  return axis;
}

Tensor with_zeros_behind(const Tensor& x, std::int64_t axis, std::int64_t count, Site site) {
  if (count == 0) return x;
  Shape shape = x.shape(site);
  shape[static_cast<std::size_t>(axis)] = count;
  return concat({x, zeros(shape, {.dtype = x.dtype(site), .device = x.device(site)}, site)}, {.axis = axis}, site);
}

Tensor as_channels(const Tensor& table, int rank, Site site) {
  Shape shape = Shape::filled(static_cast<std::size_t>(rank), 1);
  shape[1] = -1;
  return reshape(table, shape, site);
}

}  // namespace

Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const ConvTranspose2dOptions& o, Site site) {
  const Shape image = x.shape(site), window = weight.shape(site);
  if (image.size() != 4 || window.size() != 4 || image[1] != window[0])
    fail_at(site, "conv_transpose2d: needs x (N, C, H, W) and a weight (C, O / groups, KH, KW), not {} and {}", to_string(image),
            to_string(window));
  const Axis rows = transposed_axis(image[2], window[2], 0, o, site), columns = transposed_axis(image[3], window[3], 1, o, site);
  const Tensor from = with_zeros_behind(with_zeros_behind(x, 2, rows.extra, site), 3, columns.extra, site);
  const Op adjoint = op("conv2d_input_gradient",
                        {{"size", Dims{rows.size, columns.size}},
                         {"stride", Dims(o.stride)},
                         {"padding", Dims(o.padding)},
                         {"dilation", Dims(o.dilation)},
                         {"groups", o.groups}},
                        site);
  return apply(adjoint, {from, weight}, site).at(0);
}

Tensor upsample(const Tensor& x, double scale, const UpsampleOptions& options, Site site) {
  const Shape image = x.shape(site);
  if (image.size() != 4) fail_at(site, "upsample: needs images (N, C, H, W), not {}", to_string(image));
  if (!(scale > 0)) fail_at(site, "upsample: the scale must be above 0, not {}", scale);
  const auto scaled = [&](std::int64_t size) { return static_cast<std::int64_t>(std::floor(static_cast<double>(size) * scale)); };
  return interpolate(x, {scaled(image[2]), scaled(image[3])}, {.mode = options.mode, .align_corners = options.align_corners},
                     site);
}

Tensor batch_norm_eval(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& weight, const Tensor& bias,
                       double epsilon, Site site) {
  const int rank = x.rank(site);
  if (rank < 2) fail_at(site, "batch_norm_eval: needs x (N, C, ...), not {}", to_string(x.shape(site)));
  const Tensor factor = divide(weight, sqrt(add(variance, epsilon, site), site), site);
  const Tensor distance = subtract(x, as_channels(mean, rank, site), site);
  return add(multiply(distance, as_channels(factor, rank, site), site), as_channels(bias, rank, site), site)
      .astype(x.dtype(site), site);
}

}  // namespace regrow
