// SPDX-License-Identifier: Apache-2.0
// conv2d and its gradients: values (NumPy's, or loops in f64), geometry, layouts, element types, errors.
#include <gmock/gmock.h>

#include <cmath>

#include "regrow/kernels/convolution.h"
#include "tests/ops/values.h"

namespace regrow {
namespace {

using testing::as_dtype;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::laid_out;
using testing::random_value;
using testing::run;
using testing::Value;
using testing::value;

struct Geometry {
  Shape image, weight;
  Dims stride{1, 1}, padding{0, 0}, dilation{1, 1};
  std::int64_t groups = 1;

  std::int64_t out(std::size_t i) const {
    return (image[i + 2] + 2 * padding[i] - dilation[i] * (weight[i + 2] - 1) - 1) / stride[i] + 1;
  }
  Shape result() const { return {image[0], weight[0], out(0), out(1)}; }
  Op conv() const { return op("conv2d", {{"stride", stride}, {"padding", padding}, {"dilation", dilation}, {"groups", groups}}); }
  Op gradient(std::string_view name, const Shape& of) const {
    return op(
        name,
        {{"size", Dims{of[2], of[3]}}, {"stride", stride}, {"padding", padding}, {"dilation", dilation}, {"groups", groups}});
  }
  Op input_gradient() const { return gradient("conv2d_input_gradient", image); }
  Op weight_gradient() const { return gradient("conv2d_weight_gradient", weight); }
};

// Calls f(image, weight, result), offsets row-major, for every product in the definition.
void for_each_product(const Geometry& g, auto&& f) {
  const std::int64_t in_group = g.weight[1], out_group = g.weight[0] / g.groups;
  for (std::int64_t n = 0; n < g.image[0]; ++n)
    for (std::int64_t o = 0; o < g.weight[0]; ++o)
      for (std::int64_t y = 0; y < g.out(0); ++y)
        for (std::int64_t x = 0; x < g.out(1); ++x)
          for (std::int64_t c = 0; c < in_group; ++c)
            for (std::int64_t kh = 0; kh < g.weight[2]; ++kh)
              for (std::int64_t kw = 0; kw < g.weight[3]; ++kw) {
                const std::int64_t h = y * g.stride[0] - g.padding[0] + kh * g.dilation[0],
                                   w = x * g.stride[1] - g.padding[1] + kw * g.dilation[1];
                if (h < 0 || h >= g.image[2] || w < 0 || w >= g.image[3]) continue;
                f(static_cast<std::size_t>(((n * g.image[1] + o / out_group * in_group + c) * g.image[2] + h) * g.image[3] + w),
                  static_cast<std::size_t>(((o * in_group + c) * g.weight[2] + kh) * g.weight[3] + kw),
                  static_cast<std::size_t>(((n * g.weight[0] + o) * g.out(0) + y) * g.out(1) + x));
              }
}

// Products summed in f64, and the sum of their magnitudes, which bounds the rounding error.
struct Sums {
  std::vector<double> sum, magnitude;
  explicit Sums(std::int64_t count) : sum(static_cast<std::size_t>(count)), magnitude(sum.size()) {}
  void add(std::size_t i, double product) { sum[i] += product, magnitude[i] += std::abs(product); }
};

// |error| <= unit * (sum of |products| + |value|): unit covers a short random walk of roundings.
void expect_close(const Value& got, const Sums& expected, double unit) {
  const std::vector<double> values = got.to_doubles();
  ASSERT_EQ(values.size(), expected.sum.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected.sum[i], unit * (expected.magnitude[i] + std::abs(expected.sum[i]))) << "element " << i;
}

double unit_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 4e-16;
    case DType::f32:
      return 3e-7;
    case DType::f16:
      return 1e-3;
    default:
      return 8e-3;
  }
}

void check_all_passes(const Geometry& g, DType dtype) {
  SCOPED_TRACE(std::string(name_of(dtype)) + " " + to_string(g.image) + " x " + to_string(g.weight) + " stride " +
               to_string(g.stride) + " padding " + to_string(g.padding) + " dilation " + to_string(g.dilation) + " groups " +
               std::to_string(g.groups));
  const Value image = random_value(dtype, g.image, 1), weight = random_value(dtype, g.weight, 2),
              grad = random_value(dtype, g.result(), 3);
  const std::vector<double> x = image.to_doubles(), w = weight.to_doubles(), d = grad.to_doubles();
  Sums result(element_count(g.result())), image_gradient(element_count(g.image)), weight_gradient(element_count(g.weight));
  for_each_product(g, [&](std::size_t i, std::size_t j, std::size_t k) {
    result.add(k, x[i] * w[j]);
    image_gradient.add(i, d[k] * w[j]);
    weight_gradient.add(j, d[k] * x[i]);
  });
  const Value forward = run(g.conv(), {image, weight}).at(0);
  EXPECT_EQ(forward.desc.shape, g.result());
  EXPECT_TRUE(is_channels_last(forward.desc.shape, forward.desc.strides));
  expect_close(forward, result, unit_of(dtype));
  const Value to_image = run(g.input_gradient(), {grad, weight}).at(0);
  EXPECT_EQ(to_image.desc.shape, g.image);
  expect_close(to_image, image_gradient, unit_of(dtype));
  const Value to_weight = run(g.weight_gradient(), {image, grad}).at(0);
  EXPECT_EQ(to_weight.desc.shape, g.weight);
  EXPECT_TRUE(to_weight.desc.contiguous());
  expect_close(to_weight, weight_gradient, unit_of(dtype));
}

// numpy: scipy.signal.correlate2d(arange(16).reshape(4, 4), [[1, 2], [3, 4]], 'valid')
TEST(Conv2d, SumsOverWindows) {
  const Value x = value<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {1, 1, 4, 4});
  const Value w = value<float>({1, 2, 3, 4}, {1, 1, 2, 2});
  EXPECT_THAT(run(op("conv2d"), {x, w})[0].to_vector<float>(), ElementsAre(34, 44, 54, 74, 84, 94, 114, 124, 134));
  const Value strided = run(op("conv2d", {{"stride", 2}}), {x, w})[0];
  EXPECT_THAT(strided.to_vector<float>(), ElementsAre(34, 54, 114, 134));
  const Value dilated = run(op("conv2d", {{"dilation", 3}}), {x, w})[0];
  EXPECT_THAT(dilated.to_vector<float>(), ElementsAre(0 * 1 + 3 * 2 + 12 * 3 + 15 * 4));
  const Value padded = run(op("conv2d", {{"padding", Dims{1, 0}}, {"stride", Dims{4, 1}}}), {x, w})[0];
  EXPECT_THAT(padded.to_vector<float>(),
              ElementsAre(0 * 3 + 1 * 4, 1 * 3 + 2 * 4, 2 * 3 + 3 * 4, 12 + 2 * 13, 13 + 2 * 14, 14 + 2 * 15));
}

TEST(Conv2d, AgreesWithLoopsForEveryGeometry) {
  const Geometry cases[] = {
      {{2, 1, 9, 8}, {4, 1, 3, 3}},
      {{2, 3, 9, 8}, {5, 3, 3, 2}, {2, 1}, {1, 2}},
      {{1, 16, 12, 12}, {32, 16, 3, 3}, {1, 1}, {1, 1}},
      {{3, 32, 7, 7}, {16, 32, 1, 1}},
      {{3, 32, 8, 8}, {16, 32, 1, 1}, {2, 2}},
      {{2, 8, 9, 9}, {8, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 8},
      {{2, 16, 9, 9}, {16, 1, 3, 3}, {2, 2}, {1, 1}, {1, 1}, 16},
      {{3, 32, 5, 19}, {32, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 32},  // depthwise, in whole vectors
      {{2, 16, 11, 12}, {16, 1, 5, 4}, {2, 3}, {3, 2}, {2, 1}, 16},
      {{1, 48, 3, 4}, {48, 1, 7, 7}, {1, 1}, {6, 5}, {1, 2}, 48},  // wider than the image
      {{2, 16, 9, 9}, {16, 1, 1, 3}, {1, 4}, {2, 0}, {1, 1}, 16},
      {{2, 6, 9, 9}, {4, 3, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 2},
      {{2, 5, 9, 9}, {7, 5, 3, 3}, {2, 2}, {1, 1}, {3, 3}},
      {{2, 4, 20, 17}, {6, 2, 3, 2}, {3, 2}, {4, 2}, {4, 4}, 2},
      {{1, 2, 5, 5}, {3, 2, 5, 5}, {1, 1}, {4, 4}},
      {{1, 3, 6, 6}, {2, 3, 2, 2}, {5, 5}},  // whole rows of the image are never read
      {{4, 64, 6, 6}, {10, 64, 6, 6}},
      {{2, 1, 28, 28}, {8, 1, 5, 5}, {1, 1}, {2, 2}},
      {{1, 1, 1, 1}, {1, 1, 1, 1}},
      {{2, 1, 9, 37}, {16, 1, 3, 3}, {1, 1}, {1, 1}},  // few channels: sixteen, eight, four columns and one at a time
      {{2, 3, 7, 21}, {20, 3, 3, 2}, {1, 1}, {1, 2}},
      {{2, 3, 11, 50}, {33, 3, 3, 3}, {2, 2}, {1, 1}},
      {{1, 4, 9, 19}, {8, 4, 2, 3}, {1, 3}, {0, 1}, {2, 2}},
      {{2, 2, 5, 3}, {16, 2, 5, 3}},
  };
  for (const Geometry& g : cases)
    for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) check_all_passes(g, dtype);
}

TEST(Conv2d, AgreesWithLoopsForRandomGeometries) {
  std::mt19937 bits(7);
  auto pick = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(bits() % static_cast<unsigned>(high - low + 1));
  };
  int done = 0;
  while (done < 60) {
    Geometry g;
    g.groups = pick(1, 3);
    const std::int64_t in_group = pick(1, 9), out_group = pick(1, 9);
    g.image = {pick(1, 3), in_group * g.groups, pick(1, 14), pick(1, 14)};
    g.weight = {out_group * g.groups, in_group, pick(1, 4), pick(1, 4)};
    g.stride = {pick(1, 3), pick(1, 3)}, g.padding = {pick(0, 2), pick(0, 2)}, g.dilation = {pick(1, 3), pick(1, 3)};
    bool fits = true;
    for (std::size_t i = 0; i < 2; ++i) fits = fits && g.image[i + 2] + 2 * g.padding[i] > g.dilation[i] * (g.weight[i + 2] - 1);
    if (!fits) continue;
    check_all_passes(g, done % 2 == 0 ? DType::f32 : DType::f64);
    ++done;
  }
}

TEST(Conv2d, ReadsEveryLayout) {
  const Geometry g{{3, 6, 9, 8}, {10, 6, 3, 3}, {1, 1}, {1, 1}};
  for (DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    const Value x = random_value(dtype, g.image, 1), w = random_value(dtype, g.weight, 2), d = random_value(dtype, g.result(), 3);
    const Strides rows_reversed{6 * 72, 72, -8, 1}, spaced{2 * 6 * 72, 2 * 72, 16, 2}, last = channels_last_strides(g.image);
    const std::vector<std::byte> forward = run(g.conv(), {laid_out(x, last), w})[0].to_bytes();
    const std::vector<std::byte> to_weight = run(g.weight_gradient(), {laid_out(x, last), d})[0].to_bytes();
    for (const Strides& strides : {x.desc.strides, rows_reversed, spaced}) {
      EXPECT_EQ(run(g.conv(), {laid_out(x, strides), w})[0].to_bytes(), forward) << to_string(strides);
      EXPECT_EQ(run(g.weight_gradient(), {laid_out(x, strides), d})[0].to_bytes(), to_weight) << to_string(strides);
    }
    EXPECT_EQ(run(g.conv(), {x, laid_out(w, {1, 90, 30, 10})})[0].to_bytes(), forward);
    EXPECT_EQ(run(g.input_gradient(), {laid_out(d, channels_last_strides(g.result())), w})[0].to_bytes(),
              run(g.input_gradient(), {d, laid_out(w, {1, 90, 30, 10})})[0].to_bytes());
  }
}

TEST(Conv2d, ReadsEveryLayoutOfAFewChannels) {
  const Geometry g{{2, 3, 9, 40}, {20, 3, 3, 3}, {1, 1}, {1, 1}};
  const Value x = random_value(DType::f32, g.image, 1), w = random_value(DType::f32, g.weight, 2);
  const std::vector<std::byte> expected = run(g.conv(), {x, w})[0].to_bytes();
  for (const Strides& strides : {channels_last_strides(g.image), Strides{3 * 360, 360, -40, 1}, Strides{6 * 360, 2 * 360, 80, 2}})
    EXPECT_EQ(run(g.conv(), {laid_out(x, strides), w})[0].to_bytes(), expected) << to_string(strides);
  EXPECT_EQ(run(g.conv(), {x, laid_out(w, {1, 180, 60, 20})})[0].to_bytes(), expected);
}

TEST(Conv2d, BitsDoNotDependOnAddresses) {
  const Geometry g{{2, 16, 9, 8}, {32, 16, 3, 3}, {1, 1}, {1, 1}};
  const Value x = laid_out(random_value(DType::f32, g.image, 1), channels_last_strides(g.image)),
              w = random_value(DType::f32, g.weight, 2);
  const Value d = laid_out(random_value(DType::f32, g.result(), 3), channels_last_strides(g.result()));
  for (const auto& [op, a, b] : {std::tuple{g.conv(), x, w}, {g.input_gradient(), d, w}, {g.weight_gradient(), x, d}}) {
    const std::vector<std::byte> expected = run(op, {a, b})[0].to_bytes();
    for (std::size_t shift : {4, 20, 32, 60})
      EXPECT_EQ(run(op, {laid_out(a, a.desc.strides, shift), laid_out(b, b.desc.strides, 64 - shift)})[0].to_bytes(), expected)
          << shift;
  }
}

TEST(Conv2d, TakesAnEmptyBatch) {
  const Geometry g{{0, 3, 8, 8}, {4, 3, 3, 3}};
  for (DType dtype : {DType::f32, DType::f64}) {
    const Value x = random_value(dtype, g.image, 1), w = random_value(dtype, g.weight, 2), d = random_value(dtype, g.result(), 3);
    EXPECT_EQ(run(g.conv(), {x, w})[0].desc.shape, (Shape{0, 4, 6, 6}));
    EXPECT_EQ(run(g.input_gradient(), {d, w})[0].desc.shape, g.image);
    for (double value : run(g.weight_gradient(), {x, d})[0].to_doubles()) EXPECT_EQ(value, 0);
  }
  const Geometry no_channels{{2, 0, 8, 8}, {4, 0, 3, 3}};
  for (double value : run(no_channels.conv(),
                          {random_value(DType::f32, no_channels.image, 1), random_value(DType::f32, no_channels.weight, 2)})[0]
                          .to_doubles())
    EXPECT_EQ(value, 0);
}

TEST(Conv2d, SaysWhatDoesNotFit) {
  auto message = [](const Shape& x, const Shape& w, std::initializer_list<AttrArg> attrs = {}, DType of_weight = DType::f32) {
    return error_of([&] { run(op("conv2d", attrs), {random_value(DType::f32, x, 1), random_value(of_weight, w, 2)}); });
  };
  EXPECT_THAT(message({1, 3, 8, 8}, {4, 2, 3, 3}),
              HasSubstr("conv2d: the image has 3 channels, the weight expects 2: (1, 3, 8, 8) x (4, 2, 3, 3)"));
  EXPECT_THAT(message({1, 4, 8, 8}, {3, 2, 3, 3}, {{"groups", 2}}),
              HasSubstr("3 channels of the result are no multiple of 2 groups"));
  EXPECT_THAT(message({1, 3, 2, 2}, {4, 3, 3, 3}), HasSubstr("the window spans 3, the padded image only 2"));
  EXPECT_THAT(message({3, 8, 8}, {4, 3, 3, 3}), HasSubstr("needs an image (N, C, H, W)"));
  EXPECT_THAT(message({1, 3, 8, 8}, {4, 3, 3, 3}, {{"stride", 0}}), HasSubstr("stride must be at least 1, not (0,)"));
  EXPECT_THAT(message({1, 3, 8, 8}, {4, 3, 3, 3}, {{"padding", Dims{1, 2, 3}}}),
              HasSubstr("padding is one number or two, not (1, 2, 3)"));
  EXPECT_THAT(message({1, 3, 8, 8}, {4, 3, 3, 3}, {}, DType::f64), HasSubstr("operands of one floating type, not f32 and f64"));
  const Geometry g{{1, 3, 8, 8}, {4, 3, 3, 3}};
  EXPECT_THAT(error_of([&] {
                run(g.input_gradient(), {random_value(DType::f32, {1, 4, 5, 6}, 1), random_value(DType::f32, g.weight, 2)});
              }),
              HasSubstr("has the shape (1, 4, 6, 6), not (1, 4, 5, 6)"));
}

// tinygrad 17805: what keeps the size along an axis is half of the span of the kernel there, dilated as that axis is.
TEST(Conv2d, PaddingGoesWithTheDilationOfItsOwnAxis) {
  const Geometry g{{1, 3, 28, 31}, {8, 3, 3, 5}, {1, 1}, {2, 6}, {2, 3}, 1};
  EXPECT_EQ(run(g.conv(), {random_value(DType::f32, g.image, 1), random_value(DType::f32, g.weight, 2)})[0].desc.shape,
            (Shape{1, 8, 28, 31}));
}

// <conv(x), y> = <x, conv_input_gradient(y)>, with sizes that no division hides (PyTorch issue 86356).
TEST(Conv2d, InputGradientIsTheAdjoint) {
  const Geometry g{{2, 4, 23, 18}, {6, 2, 3, 2}, {3, 2}, {2, 1}, {4, 4}, 2};
  const Value x = random_value(DType::f64, g.image, 1), w = random_value(DType::f64, g.weight, 2),
              y = random_value(DType::f64, g.result(), 3);
  auto dot = [](const Value& a, const Value& b) {
    const std::vector<double> p = a.to_doubles(), q = b.to_doubles();
    return std::inner_product(p.begin(), p.end(), q.begin(), 0.0);
  };
  EXPECT_NEAR(dot(run(g.conv(), {x, w})[0], y), dot(x, run(g.input_gradient(), {y, w})[0]), 1e-10);
}

}  // namespace
}  // namespace regrow
