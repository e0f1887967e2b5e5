// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/dnnl_convolution.h"

#include <optional>

#include "regrow/kernels/dnnl_primitive.h"
#include "regrow/kernels/reorder_count.h"
#include "regrow/kernels/workspace.h"

namespace regrow::kernels::dnnl {
namespace {

// Not "x64:gemm:jit", which allocates 1-33 MiB a call outside our accounts, nor "ref", which is a thousand times slower.
constexpr std::string_view allowed[] = {"brgconv", "brdgmm", "jit"};
constexpr std::int64_t kind = 2;  // of Key

struct PreparedConvolution : Prepared {
  std::optional<Primitive> convolution;  // empty: not available
  std::optional<Primitive> reorder;      // of the weights into the layout that it likes, or of their gradient back
  std::size_t weight_bytes = 0;          // in that layout; 0: it likes the canonical one
};

Key key_of(ConvolutionPass pass, DType dtype, const Convolution& s) {
  return {{kind, static_cast<std::int64_t>(dtype), static_cast<std::int64_t>(pass), s.batch, s.in_channels, s.out_channels,
           s.groups, s.in[0], s.in[1], s.kernel[0], s.kernel[1], s.out[0], s.out[1], s.stride[0], s.stride[1], s.padding[0],
           s.padding[1], s.dilation[0], s.dilation[1]}};
}

Convolution shape_in(const Key& key) {
  const auto& v = key.values;
  return {.batch = v[3],
          .in_channels = v[4],
          .out_channels = v[5],
          .groups = v[6],
          .in = {v[7], v[8]},
          .kernel = {v[9], v[10]},
          .out = {v[11], v[12]},
          .stride = {v[13], v[14]},
          .padding = {v[15], v[16]},
          .dilation = {v[17], v[18]}};
}

dnnl_memory_desc_t channels_last(DType dtype, std::int64_t n, std::int64_t c, const Pair& size) {
  const std::int64_t shape[] = {n, c, size[0], size[1]};
  const std::int64_t strides[] = {c * size[0] * size[1], 1, c * size[1], c};
  return strided(dtype, shape, strides);
}

struct WeightShape {
  std::array<std::int64_t, 5> sizes{}, strides{};
  std::size_t first = 0;  // without groups, the axis of groups is left out
};

WeightShape weight_shape(const Convolution& s) {
  WeightShape w;
  w.sizes = {s.groups, s.out_channels / s.groups, s.in_channels / s.groups, s.kernel[0], s.kernel[1]};
  std::int64_t step = 1;
  for (std::size_t i = 5; i-- > 0;) w.strides[i] = step, step *= w.sizes[i];
  w.first = s.groups == 1 ? 1 : 0;
  return w;
}

// The descriptor of each of the three passes, from the same tensors.
struct Described {
  dnnl_convolution_desc_t result, pass;
};

Described describe(ConvolutionPass pass, const Convolution& s, const dnnl_memory_desc_t& image, const dnnl_memory_desc_t& weight,
                   const dnnl_memory_desc_t& gradient_of_weight, const dnnl_memory_desc_t& result) {
  const dnnl_dims_t stride = {s.stride[0], s.stride[1]}, padding = {s.padding[0], s.padding[1]},
                    dilation = {s.dilation[0] - 1, s.dilation[1] - 1};
  Described d;
  check(dnnl_dilated_convolution_forward_desc_init(&d.result, dnnl_forward_training, dnnl_convolution_direct, &image, &weight,
                                                   nullptr, &result, stride, dilation, padding, padding),
        "describing a convolution");
  d.pass = d.result;
  if (pass == ConvolutionPass::image)
    check(dnnl_dilated_convolution_backward_data_desc_init(&d.pass, dnnl_convolution_direct, &image, &weight, &result, stride,
                                                           dilation, padding, padding),
          "describing the gradient of a convolution's image");
  if (pass == ConvolutionPass::weight)
    check(dnnl_dilated_convolution_backward_weights_desc_init(&d.pass, dnnl_convolution_direct, &image, &gradient_of_weight,
                                                              nullptr, &result, stride, dilation, padding, padding),
          "describing the gradient of a convolution's weight");
  return d;
}

std::unique_ptr<Prepared> make(const Key& key) {
  const auto dtype = static_cast<DType>(key.values[1]);
  const auto pass = static_cast<ConvolutionPass>(key.values[2]);
  const Convolution s = shape_in(key);
  const WeightShape w = weight_shape(s);
  const auto sizes = std::span(w.sizes).subspan(w.first), strides = std::span(w.strides).subspan(w.first);
  const Described d = describe(pass, s, channels_last(dtype, s.batch, s.in_channels, s.in), any_layout(dtype, sizes),
                               any_layout(DType::f32, sizes), channels_last(dtype, s.batch, s.out_channels, s.out));
  auto made = std::make_unique<PreparedConvolution>();
  if (pass == ConvolutionPass::result) {
    made->convolution.emplace(&d.pass, allowed);
  } else {
    const Primitive hint(&d.result, allowed);
    if (hint.empty()) return made;
    made->convolution.emplace(&d.pass, allowed, hint.desc());
  }
  if (made->convolution->empty()) return made;
  const bool back = pass == ConvolutionPass::weight;
  const dnnl_memory_desc_t canonical = strided(back ? DType::f32 : dtype, sizes, strides);
  const dnnl_memory_desc_t& liked = made->convolution->layout(back ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS);
  if (dnnl_memory_desc_equal(&liked, &canonical)) return made;
  made->weight_bytes = dnnl_memory_desc_get_size(&liked);
  if (back) made->reorder.emplace(liked, canonical);
  else made->reorder.emplace(canonical, liked);
  return made;
}

PreparedConvolution& prepared_for(ConvolutionPass pass, DType dtype, const Convolution& shape) {
  return static_cast<PreparedConvolution&>(prepared(key_of(pass, dtype, shape), make));
}

struct Scratch {
  std::byte* weight = nullptr;
  std::byte* reorder = nullptr;
  std::byte* convolution = nullptr;
};

Scratch take_scratch(const PreparedConvolution& p, Workspace& workspace) {
  Scratch scratch;
  if (p.reorder) scratch.weight = workspace.take(p.weight_bytes), scratch.reorder = workspace.take(p.reorder->scratch_bytes());
  scratch.convolution = workspace.take(p.convolution->scratch_bytes());
  return scratch;
}

void reorder_weight(PreparedConvolution& p, const void* from, void* to, std::byte* scratch) {
  p.reorder->run(std::array<Argument, 2>{{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}}, scratch);
  count_weight_reorder();
}

}  // namespace

ConvolutionPlan plan_convolution(ConvolutionPass pass, DType dtype, const Convolution& shape) {
  const SingleThread guard;
  const PreparedConvolution& p = prepared_for(pass, dtype, shape);
  if (!p.convolution || p.convolution->empty()) return {};
  Workspace workspace;
  take_scratch(p, workspace);
  return {true, workspace.used()};
}

void run_convolution(ConvolutionPass pass, DType dtype, const Convolution& shape, const void* a, const void* b, void* out,
                     std::byte* bytes) {
  const SingleThread guard;
  PreparedConvolution& p = prepared_for(pass, dtype, shape);
  Workspace measured;
  take_scratch(p, measured);
  Workspace workspace({bytes, measured.used()});
  const Scratch scratch = take_scratch(p, workspace);
  if (pass == ConvolutionPass::weight) {
    void* weight = p.reorder ? scratch.weight : out;
    p.convolution->run(std::array<Argument, 3>{{{DNNL_ARG_SRC, a}, {DNNL_ARG_DIFF_DST, b}, {DNNL_ARG_DIFF_WEIGHTS, weight}}},
                       scratch.convolution);
    if (p.reorder) reorder_weight(p, weight, out, scratch.reorder);
    return;
  }
  const void* weight = p.reorder ? scratch.weight : b;
  if (p.reorder) reorder_weight(p, b, scratch.weight, scratch.reorder);
  const bool forward = pass == ConvolutionPass::result;
  p.convolution->run(std::array<Argument, 3>{{{forward ? DNNL_ARG_SRC : DNNL_ARG_DIFF_DST, a},
                                              {DNNL_ARG_WEIGHTS, weight},
                                              {forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_SRC, out}}},
                     scratch.convolution);
}

}  // namespace regrow::kernels::dnnl
