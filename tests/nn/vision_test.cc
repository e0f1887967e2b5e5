// SPDX-License-Identifier: Apache-2.0
// Modules of images: transposed convolutions against their definition, batch statistics in training and evaluation, and a
// residual block whose activations stay channels-last.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "regrow/engine/default_channel.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"
#include "regrow/frontend/grad.h"
#include "regrow/frontend/vision.h"
#include "regrow/kernels/reorder_count.h"
#include "regrow/nn/nn.h"
#include "regrow/tensor/layout.h"

namespace regrow::nn {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

template <class F>
std::string message_of(F&& run) {
  try {
    run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

Tensor counted(const Shape& shape, double by = 0.37) {  // numbers in [-1, 1) without a pattern that windows would repeat
  const std::int64_t n = element_count(shape);
  return (sin(arange(static_cast<double>(n)) * by) + 0.1 * cos(arange(static_cast<double>(n)))).reshape(shape).astype(DType::f64);
}

struct Transposed {
  Shape image, weight;
  Sizes stride = {1, 1}, padding = {0, 0}, more = {0, 0}, dilation = {1, 1};
  std::int64_t groups = 1;

  Tensor operator()(const Tensor& x, const Tensor& w) const {
    return conv_transpose2d(
        x, w, {.stride = stride, .padding = padding, .output_padding = more, .dilation = dilation, .groups = groups});
  }
  std::int64_t size(std::size_t i) const {
    return (image[i + 2] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (weight[i + 2] - 1) + more[i] + 1;
  }
};

// Every element of x times every element of its window, added where the window puts it.
std::vector<double> by_definition(const Transposed& t, const std::vector<double>& x, const std::vector<double>& w) {
  const std::int64_t in_group = t.image[1] / t.groups, out_group = t.weight[1], rows = t.size(0), columns = t.size(1);
  std::vector<double> out(static_cast<std::size_t>(t.image[0] * out_group * t.groups * rows * columns));
  std::size_t at = 0;
  for (std::int64_t n = 0; n < t.image[0]; ++n)
    for (std::int64_t c = 0; c < t.image[1]; ++c)
      for (std::int64_t h = 0; h < t.image[2]; ++h)
        for (std::int64_t v = 0; v < t.image[3]; ++v, ++at)
          for (std::int64_t o = 0; o < out_group; ++o)
            for (std::int64_t kh = 0; kh < t.weight[2]; ++kh)
              for (std::int64_t kw = 0; kw < t.weight[3]; ++kw) {
                const std::int64_t y = h * t.stride[0] - t.padding[0] + kh * t.dilation[0],
                                   z = v * t.stride[1] - t.padding[1] + kw * t.dilation[1];
                if (y < 0 || y >= rows || z < 0 || z >= columns) continue;
                const std::int64_t channel = c / in_group * out_group + o;
                out[static_cast<std::size_t>(((n * out_group * t.groups + channel) * rows + y) * columns + z)] +=
                    x[at] * w[static_cast<std::size_t>(((c * out_group + o) * t.weight[2] + kh) * t.weight[3] + kw)];
              }
  return out;
}

// The last is larger than any convolution with so few windows would read (B167 of the collected faults); kernels, strides and
// borders differ along the two axes (B165).
const Transposed geometries[] = {
    {.image = {2, 3, 4, 5}, .weight = {3, 2, 2, 3}, .stride = {2, 1}, .padding = {1, 0}, .more = {1, 0}},
    {.image = {1, 4, 3, 3}, .weight = {4, 3, 3, 2}, .stride = {2, 3}, .more = {0, 2}, .groups = 2},
    {.image = {1, 4, 3, 4},
     .weight = {4, 2, 2, 3},
     .stride = {3, 2},
     .padding = {2, 3},
     .more = {2, 3},
     .dilation = {4, 4},
     .groups = 2},
};

TEST(ConvTranspose2d, AddsUpWindows) {
  for (const Transposed& t : geometries) {
    const Tensor x = counted(t.image), w = counted(t.weight, 0.71), out = t(x, w);
    EXPECT_EQ(out.shape(), (Shape{t.image[0], t.weight[1] * t.groups, t.size(0), t.size(1)}));
    EXPECT_THAT(out.to_vector<double>(),
                Pointwise(testing::DoubleNear(1e-12), by_definition(t, x.to_vector<double>(), w.to_vector<double>())));
  }
}

// It is linear in both operands, so that <out, y> = <x, gradient of x> = <w, gradient of w>; and differences agree.
TEST(ConvTranspose2d, ItsGradientsAreAdjoint) {
  for (const Transposed& t : geometries) {
    const Tensor x = counted(t.image).requires_grad(), w = counted(t.weight, 0.71).requires_grad(), out = t(x, w);
    const Tensor y = counted(out.shape(), 0.53), product = sum(out * y);
    product.backward();
    const double expected = product.item<double>();
    EXPECT_NEAR(sum(x.detach() * x.grad()).item<double>(), expected, 1e-10);
    EXPECT_NEAR(sum(w.detach() * w.grad()).item<double>(), expected, 1e-10);
    Tensor moved = x.detach();
    moved[{0, 1, 2, 1}] += 0.5;
    const double difference = (sum(t(moved, w.detach()) * y).item<double>() - expected) / 0.5;
    EXPECT_NEAR((x.grad()[{0, 1, 2, 1}].item<double>()), difference, 1e-10);
  }
}

TEST(ConvTranspose2d, RefusesPaddingThatIsNone) {
  const Tensor x = counted({1, 2, 3, 3}), w = counted({2, 1, 2, 2});
  EXPECT_THAT(message_of([&] { conv_transpose2d(x, w, {.output_padding = 1}); }),
              HasSubstr("output_padding 1 must be less than"));
  EXPECT_THAT(message_of([&] { conv_transpose2d(x, counted({3, 1, 2, 2})); }), HasSubstr("(1, 2, 3, 3) and (3, 1, 2, 2)"));
  EXPECT_THAT(message_of([&] { conv_transpose2d(x, w, {.padding = 2}); }), HasSubstr("nothing is left of 3 rows"));
}

TEST(ConvTranspose2d, IsAModule) {
  const ConvTranspose2d up(4, 6, 2, {.stride = 2, .groups = 2});
  EXPECT_EQ(up.weight().value().shape(), (Shape{4, 3, 2, 2}));
  EXPECT_EQ(up(ones({1, 4, 3, 5})).shape(), (Shape{1, 6, 6, 10}));
}

Tensor small_batch() {
  return tensor({1.f, 3.f, 5.f, 7.f, 2.f, 2.f, 4.f, 4.f}).reshape({2, 2, 1, 2});
}  // channels 1 3 2 2, 5 7 4 4

TEST(BatchNorm2d, TracksStatisticsInTrainingAndGoesByThemAfter) {
  const BatchNorm2d norm(2);
  const Tensor x = small_batch(), out = norm(x);
  EXPECT_THAT(norm.running_mean().value().to_vector<float>(), ElementsAre(FloatEq(0.2f), FloatEq(0.5f)));
  // 0.9 + 0.1 times the unbiased variances 2 / 3 and 2
  EXPECT_THAT(norm.running_var().value().to_vector<float>(), ElementsAre(FloatEq(0.9f + 0.2f / 3), FloatEq(1.1f)));
  const float root = std::sqrt(0.5f), other = std::sqrt(1.5f);
  EXPECT_THAT(out.to_vector<float>(),
              Pointwise(FloatNear(2e-5f), {-1 / root, 1 / root, 0.f, 2 / other, 0.f, 0.f, -1 / other, -1 / other}));
  norm.eval();
  const float first = std::sqrt(0.9f + 0.2f / 3 + 1e-5f), second = std::sqrt(1.1f + 1e-5f);
  EXPECT_THAT(norm(x).to_vector<float>(),
              Pointwise(FloatNear(1e-6f), {0.8f / first, 2.8f / first, 4.5f / second, 6.5f / second, 1.8f / first, 1.8f / first,
                                           3.5f / second, 3.5f / second}));
  EXPECT_THAT(norm.running_mean().value().to_vector<float>(), ElementsAre(FloatEq(0.2f), FloatEq(0.5f)));
}

TEST(BatchNorm2d, NamesItsStateAsPyTorchDoes) {
  std::vector<std::string> names;
  for (const auto& [name, buffer] : BatchNorm2d(3).named_buffers()) names.push_back(name);
  for (const auto& [name, parameter] : BatchNorm2d(3).named_parameters()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("running_mean", "running_var", "num_batches_tracked", "weight", "bias"));
  EXPECT_TRUE(BatchNorm2d(3, {.affine = false}).parameters().empty());
}

TEST(BatchNorm2d, RecomputingUpdatesNothingTwice) {  // B062
  const BatchNorm2d norm(2);
  const Tensor out = norm(small_batch());
  out.wait();
  out.drop();
  EXPECT_EQ(out.to_vector<float>().size(), 8u);
  EXPECT_THAT(norm.running_mean().value().to_vector<float>(), ElementsAre(FloatEq(0.2f), FloatEq(0.5f)));
}

TEST(BatchNorm2d, RefusesASingleValueInTraining) {
  EXPECT_THAT(message_of([] { BatchNorm2d(3)(ones({1, 3, 1, 1})); }), HasSubstr("more than one value a channel"));
  EXPECT_THAT(message_of([] { BatchNorm2d(3)(ones({2, 3})); }), HasSubstr("needs images (N, C, H, W), not (2, 3)"));
}

TEST(Norms, StartAsTheIdentityOfTheNormalized) {
  const Tensor x = tensor({1.f, 2.f, 3.f, 4.f}).reshape({1, 4});
  const auto near = Pointwise(FloatNear(1e-5f), {-1.3416408f, -0.4472136f, 0.4472136f, 1.3416408f});
  EXPECT_THAT(LayerNorm(4)(x).to_vector<float>(), near);
  EXPECT_THAT(LayerNorm(4, {.affine = false})(x).to_vector<float>(), near);
  EXPECT_THAT(GroupNorm(1, 4)(x.reshape({1, 4, 1, 1})).to_vector<float>(), near);
  EXPECT_THAT(RMSNorm(4)(x).to_vector<float>(), Pointwise(FloatNear(1e-5f), {0.36514837f, 0.73029674f, 1.0954452f, 1.4605935f}));
  EXPECT_THAT(message_of([] { GroupNorm(3, 4); }), HasSubstr("4 channels do not fall into 3 groups"));
}

TEST(Upsample, TakesAScaleOrASize) {
  const Tensor x = counted({1, 2, 3, 5});
  EXPECT_EQ(Upsample({.scale = 2.0})(x).shape(), (Shape{1, 2, 6, 10}));
  EXPECT_EQ(Upsample({.size = Sizes{4, 4}, .mode = "bilinear"})(x).shape(), (Shape{1, 2, 4, 4}));
  EXPECT_THAT(message_of([] { Upsample({}); }), HasSubstr("a size or a scale"));
}

struct Block : Module {
  Conv2d first, second, shortcut;
  BatchNorm2d first_norm, second_norm, shortcut_norm;
  Block(std::int64_t in, std::int64_t out, std::int64_t stride)
      : first(in, out, 3, {.stride = stride, .padding = 1, .bias = false}),
        second(out, out, 3, {.padding = 1, .bias = false}),
        shortcut(in, out, 1, {.stride = stride, .bias = false}),
        first_norm(out),
        second_norm(out),
        shortcut_norm(out) {
    add("first", first), add("second", second), add("shortcut", shortcut);
    add("first_norm", first_norm), add("second_norm", second_norm), add("shortcut_norm", shortcut_norm);
  }
  Tensor operator()(const Tensor& x) const {
    return relu(second_norm(second(relu(first_norm(first(x))))) + shortcut_norm(shortcut(x)));
  }
};

// From the images on, and back to their gradient: with pools, an upsampling and a concatenation on the way.
TEST(ChannelsLast, AStepOfAResidualNetworkReordersNoActivation) {
  const Conv2d stem(3, 16, 3, {.padding = 1, .bias = false});
  const BatchNorm2d norm(16);
  const Block down(16, 32, 2), deeper(32, 32, 1);
  const Linear head(64, 10);
  const Tensor images = counted({4, 3, 16, 16}).astype(DType::f32), targets = tensor({1, 2, 3, 4});
  const Tensor x = relu(norm(stem(images))).detach().requires_grad();
  default_channel().sync();
  const kernels::ReorderCount before = kernels::reorder_count();
  const Tensor half = down(x), quarter = deeper(MaxPool2d(2)(half)), wide = Upsample({.scale = 2.0})(quarter);
  const Tensor joined = relu(concat({half, wide}, {.axis = 1}));
  for (const Tensor& t : {x, half, quarter, wide, joined}) EXPECT_TRUE(is_channels_last(t.shape(), t.strides()));
  cross_entropy(head(flatten(AdaptiveAvgPool2d(1)(joined), 1)), targets).backward();
  EXPECT_TRUE(is_channels_last(x.shape(), x.grad().strides()));
  default_channel().sync();
  const kernels::ReorderCount after = kernels::reorder_count();
  EXPECT_EQ(after.activations - before.activations, 0u);
  EXPECT_LE(after.weights - before.weights, 3u * 6u);  // at most one for each weight and pass
  EXPECT_FALSE(x.grad().strides() == contiguous_strides(x.shape()));
}

// Row-major gradients, as those of a flattened activation, join channels-last ones.
TEST(ChannelsLast, FlatteningAnActivationLeavesItsGradientChannelsLast) {
  const Tensor x = relu(Conv2d(3, 8, 3)(counted({2, 3, 6, 6}).astype(DType::f32))).detach().requires_grad();
  sum(square(flatten(relu(x), 1))).backward();
  EXPECT_TRUE(is_channels_last(x.shape(), x.strides()));
  EXPECT_TRUE(is_channels_last(x.shape(), x.grad().strides()));
}

}  // namespace
}  // namespace regrow::nn
