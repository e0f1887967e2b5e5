// SPDX-License-Identifier: Apache-2.0
// Pooling: values by hand and by loops, ties, NaN, layouts, element types, errors.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/ops/values.h"

namespace regrow {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::laid_out;
using testing::random_value;
using testing::run;
using testing::Value;
using testing::value;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float inf = std::numeric_limits<float>::infinity();

Value pool(std::string_view name, const std::vector<Value>& in, std::initializer_list<AttrArg> attrs) {
  return run(op(name, attrs), in).at(0);
}

struct Geometry {
  Shape image;
  Dims kernel{2, 2}, stride{2, 2}, padding{0, 0};
  std::int64_t out(std::size_t i) const { return (image[i + 2] + 2 * padding[i] - kernel[i]) / stride[i] + 1; }
  Shape result() const { return {image[0], image[1], out(0), out(1)}; }
  Op call(std::string_view name) const { return op(name, {{"kernel", kernel}, {"stride", stride}, {"padding", padding}}); }
  Op call_with_size(std::string_view name) const {
    return op(name, {{"size", Dims{image[2], image[3]}}, {"kernel", kernel}, {"stride", stride}, {"padding", padding}});
  }
};

// Calls f(result offset, offsets of the window's elements inside the image, row by row).
void for_each_window(const Geometry& g, auto&& f) {
  std::size_t at = 0;
  for (std::int64_t plane = 0; plane < g.image[0] * g.image[1]; ++plane)
    for (std::int64_t oh = 0; oh < g.out(0); ++oh)
      for (std::int64_t ow = 0; ow < g.out(1); ++ow, ++at) {
        std::vector<std::size_t> inside;
        for (std::int64_t kh = 0; kh < g.kernel[0]; ++kh)
          for (std::int64_t kw = 0; kw < g.kernel[1]; ++kw) {
            const std::int64_t h = oh * g.stride[0] - g.padding[0] + kh, w = ow * g.stride[1] - g.padding[1] + kw;
            if (h >= 0 && h < g.image[2] && w >= 0 && w < g.image[3])
              inside.push_back(static_cast<std::size_t>((plane * g.image[2] + h) * g.image[3] + w));
          }
        f(at, inside);
      }
}

std::size_t winner_of(const std::vector<double>& x, const std::vector<std::size_t>& window) {
  std::size_t best = window[0];
  for (std::size_t i : window)
    if (x[i] > x[best] || (std::isnan(x[i]) && !std::isnan(x[best]))) best = i;
  return best;
}

void expect_same(const Value& got, const std::vector<double>& expected, double tolerance = 0) {
  const std::vector<double> values = got.to_doubles();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(expected[i])) EXPECT_TRUE(std::isnan(values[i])) << i;
    else ASSERT_NEAR(values[i], expected[i], tolerance * (1 + std::abs(expected[i]))) << i;
  }
}

double tolerance_of(DType dtype) {
  return dtype == DType::f64 ? 1e-15 : dtype == DType::f32 ? 1e-6 : dtype == DType::f16 ? 1e-3 : 1e-2;
}

TEST(MaxPool2d, TakesTheLargestOfEachWindow) {
  const Value x = value<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0}, {1, 1, 4, 4});
  EXPECT_THAT(pool("max_pool2d", {x}, {{"kernel", 2}}).to_vector<float>(), ElementsAre(6, 8, 14, 15));
  EXPECT_THAT(pool("max_pool2d", {x}, {{"kernel", 2}, {"stride", 1}}).to_vector<float>(),
              ElementsAre(6, 7, 8, 10, 11, 12, 14, 15, 15));
  EXPECT_THAT(pool("max_pool2d", {x}, {{"kernel", 3}, {"stride", 3}, {"padding", 1}}).to_vector<float>(),
              ElementsAre(6, 8, 14, 15));
  const Value negative = value<float>({-4, -3, -2, -1}, {1, 1, 2, 2});
  EXPECT_THAT(pool("max_pool2d", {negative}, {{"kernel", 2}, {"padding", 1}}).to_vector<float>(), ElementsAre(-4, -3, -2, -1))
      << "padding never wins";
}

TEST(MaxPool2d, NanWinsAndInfinityCounts) {
  const Value x = value<float>({1, nan, 5, 2, -inf, -inf, 3, inf}, {1, 2, 2, 2});
  const std::vector<float> out = pool("max_pool2d", {x}, {{"kernel", 2}}).to_vector<float>();
  EXPECT_TRUE(std::isnan(out[0]));
  EXPECT_EQ(out[1], inf);
  const Value low = value<float>({-inf, -inf, -inf, -inf}, {1, 1, 2, 2});
  EXPECT_EQ(pool("max_pool2d", {low}, {{"kernel", 2}}).to_vector<float>()[0], -inf);
}

TEST(MaxPool2d, TheGradientGoesToTheFirstOfEqualElements) {
  const Value grad = value<float>({7}, {1, 1, 1, 1});
  EXPECT_THAT(pool("max_pool2d_gradient", {grad, value<float>({3, 5, 5, 5}, {1, 1, 2, 2})}, {{"kernel", 2}}).to_vector<float>(),
              ElementsAre(0, 7, 0, 0));
  EXPECT_THAT(
      pool("max_pool2d_gradient", {grad, value<float>({3, nan, 9, nan}, {1, 1, 2, 2})}, {{"kernel", 2}}).to_vector<float>(),
      ElementsAre(0, 7, 0, 0));
  EXPECT_THAT(pool("max_pool2d_gradient", {grad, value<float>({-inf, -inf, -inf, -inf}, {1, 1, 2, 2})}, {{"kernel", 2}})
                  .to_vector<float>(),
              ElementsAre(7, 0, 0, 0));
  // Overlapping windows share the winner 9.
  const Value x = value<float>({0, 0, 0, 0, 9, 0, 0, 0, 0}, {1, 1, 3, 3}), grads = value<float>({1, 2, 3, 4}, {1, 1, 2, 2});
  EXPECT_THAT(pool("max_pool2d_gradient", {grads, x}, {{"kernel", 2}, {"stride", 1}}).to_vector<float>(),
              ElementsAre(0, 0, 0, 0, 10, 0, 0, 0, 0));
}

TEST(Pool2d, AgreesWithLoops) {
  const Geometry cases[] = {{{2, 3, 6, 8}},
                            {{1, 70, 7, 5}, {3, 2}, {2, 1}, {1, 1}},
                            {{2, 16, 5, 5}, {3, 3}, {1, 1}, {1, 1}},
                            {{1, 1, 9, 9}, {4, 3}, {3, 3}},
                            {{3, 130, 4, 4}, {2, 2}, {2, 2}},
                            {{2, 5, 1, 6}, {1, 3}, {1, 2}, {0, 2}}};
  for (const Geometry& g : cases)
    for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
      for (bool last : {false, true}) {
        SCOPED_TRACE(std::string(name_of(dtype)) + to_string(g.image) + to_string(g.kernel) + (last ? " channels-last" : ""));
        auto place = [&](const Value& v) { return last ? laid_out(v, channels_last_strides(v.desc.shape)) : v; };
        // Few distinct numbers: there are ties.
        Value x = random_value(dtype, g.image, 1, -4, 4);
        if (dtype == DType::f16) x = testing::as_dtype(testing::as_dtype(x, DType::i8), dtype);
        const Value values = random_value(dtype, g.image, 2), grad = random_value(dtype, g.result(), 3);
        const std::vector<double> xs = x.to_doubles(), vs = values.to_doubles(), ds = grad.to_doubles();
        std::vector<double> max(ds.size()), take(ds.size()), mean(ds.size()), back(xs.size()), mean_back(xs.size());
        const auto area = static_cast<double>(g.kernel[0] * g.kernel[1]);
        for_each_window(g, [&](std::size_t at, const std::vector<std::size_t>& window) {
          const std::size_t winner = winner_of(xs, window);
          max[at] = xs[winner], take[at] = vs[winner], back[winner] += ds[at];
          for (std::size_t i : window) mean[at] += xs[i] / area, mean_back[i] += ds[at] / area;
        });
        const double tolerance = tolerance_of(dtype);
        const Value out = run(g.call("max_pool2d"), {place(x)})[0];
        EXPECT_EQ(is_channels_last(out.desc.shape, out.desc.strides),
                  last || g.image[1] == 1 || (g.out(0) == 1 && g.out(1) == 1));
        expect_same(out, max);
        expect_same(run(g.call("max_pool2d_take"), {place(values), x})[0], take);
        expect_same(run(g.call("max_pool2d_gradient"), {grad, place(x)})[0], back, tolerance);
        expect_same(run(g.call("avg_pool2d"), {place(x)})[0], mean, tolerance);
        expect_same(run(g.call_with_size("avg_pool2d_gradient"), {place(grad)})[0], mean_back, tolerance);
      }
}

TEST(Pool2d, BitsDoNotDependOnLayout) {
  for (const Geometry& g : {Geometry{{2, 20, 7, 9}, {3, 3}, {2, 2}, {1, 1}}, Geometry{{1, 9, 8, 140}, {3, 4}, {1, 1}, {1, 2}}}) {
    const Value x = random_value(DType::f32, g.image, 1), grad = random_value(DType::f32, g.result(), 2);
    const Value reversed = laid_out(x, {g.image[1] * g.image[2] * g.image[3], g.image[2] * g.image[3], -g.image[3], 1}),
                last = laid_out(x, channels_last_strides(g.image));
    const Value grad_last = laid_out(grad, channels_last_strides(g.result()));
    for (const Value& other : {reversed, last}) {
      EXPECT_EQ(run(g.call("max_pool2d"), {other})[0].to_bytes(), run(g.call("max_pool2d"), {x})[0].to_bytes());
      EXPECT_EQ(run(g.call_with_size("avg_pool2d_gradient"), {grad_last})[0].to_bytes(),
                run(g.call_with_size("avg_pool2d_gradient"), {grad})[0].to_bytes());
      EXPECT_EQ(run(g.call("avg_pool2d"), {other})[0].to_bytes(), run(g.call("avg_pool2d"), {x})[0].to_bytes());
      EXPECT_EQ(run(g.call("max_pool2d_gradient"), {grad_last, other})[0].to_bytes(),
                run(g.call("max_pool2d_gradient"), {grad, x})[0].to_bytes());
    }
  }
}

TEST(Pool2d, TakesAnEmptyBatch) {
  const Value x = random_value(DType::f32, {0, 3, 4, 4}, 1);
  EXPECT_EQ(pool("max_pool2d", {x}, {{"kernel", 2}}).desc.shape, (Shape{0, 3, 2, 2}));
  EXPECT_EQ(pool("max_pool2d_gradient", {random_value(DType::f32, {0, 3, 2, 2}, 1), x}, {{"kernel", 2}}).desc.shape,
            (Shape{0, 3, 4, 4}));
  EXPECT_EQ(pool("avg_pool2d", {random_value(DType::f32, {2, 0, 4, 4}, 1)}, {{"kernel", 2}}).desc.shape, (Shape{2, 0, 2, 2}));
}

TEST(Pool2d, SaysWhatDoesNotFit) {
  auto message = [](const Shape& shape, std::initializer_list<AttrArg> attrs, DType dtype = DType::f32) {
    return error_of([&] { pool("max_pool2d", {random_value(dtype, shape, 1)}, attrs); });
  };
  EXPECT_THAT(message({1, 1, 3, 3}, {{"kernel", 4}}),
              HasSubstr("max_pool2d: the window spans 4, the padded image only 3: (1, 1, 3, 3)"));
  EXPECT_THAT(message({1, 1, 3, 3}, {{"kernel", 2}, {"padding", 2}}), HasSubstr("could lie in the padding of 2 alone"));
  EXPECT_THAT(message({1, 1, 0, 3}, {{"kernel", 2}, {"padding", 1}}), HasSubstr("could lie in the padding"));
  EXPECT_THAT(message({1, 3, 3}, {{"kernel", 2}}), HasSubstr("needs images (N, C, H, W), not (1, 3, 3)"));
  EXPECT_THAT(message({1, 1, 3, 3}, {{"kernel", 0}}), HasSubstr("kernel must be at least 1"));
  EXPECT_THAT(message({1, 1, 4, 4}, {{"kernel", 2}}, DType::i32), HasSubstr("needs a floating type, not i32"));
  EXPECT_THAT(message({1, 1, 4, 4}, {}), HasSubstr("attribute 'kernel' is required"));
}

Value image_row(const std::vector<float>& row) { return value(row, {1, 1, 1, static_cast<std::int64_t>(row.size())}); }

TEST(CeilMode, KeepsAWindowThatTheImageFillsInPart) {
  const Value x = image_row({1, 2, 3, 4, 5});
  EXPECT_THAT(pool("max_pool2d", {x}, {{"kernel", Dims{1, 2}}, {"ceil_mode", true}}).to_vector<float>(), ElementsAre(2, 4, 5));
  EXPECT_THAT(pool("avg_pool2d", {x}, {{"kernel", Dims{1, 2}}, {"ceil_mode", true}}).to_vector<float>(),
              ElementsAre(1.5, 3.5, 5));  // what is beyond the padding does not count
}

TEST(CeilMode, DropsAWindowThatBeginsBehindTheImage) {
  for (const char* name : {"max_pool2d", "avg_pool2d"})
    EXPECT_THAT(pool(name, {image_row({7, 9})}, {{"kernel", 1}, {"stride", 2}, {"ceil_mode", true}}).to_vector<float>(),
                ElementsAre(7));
}

TEST(AvgPool2d, TheDivisorCanBeGiven) {
  const Value x = value(std::vector<float>{3, 6, 9, 12}, {1, 1, 2, 2});
  const auto means = [&](std::initializer_list<AttrArg> attrs) { return pool("avg_pool2d", {x}, attrs).to_vector<float>(); };
  EXPECT_THAT(means({{"kernel", 2}, {"stride", 1}, {"padding", 1}, {"count_include_pad", false}, {"divisor_override", 3}}),
              ElementsAre(1, 3, 2, 4, 10, 6, 3, 7, 4));
  EXPECT_THAT(means({{"kernel", 2}, {"stride", 1}, {"padding", 1}, {"count_include_pad", false}}),
              ElementsAre(3, 4.5, 6, 6, 7.5, 9, 9, 10.5, 12));
  EXPECT_THAT(means({{"kernel", 2}, {"stride", 1}, {"padding", 1}}), ElementsAre(0.75, 2.25, 1.5, 3, 7.5, 4.5, 2.25, 5.25, 3));
}

TEST(AdaptivePool2d, WindowsOverlapWhereSizesDoNotDivide) {  // [0, 2), [1, 4), [3, 5)
  const Value x = image_row({5, 1, 2, 6, 4});
  EXPECT_THAT(pool("adaptive_avg_pool2d", {x}, {{"size", Dims{1, 3}}}).to_vector<float>(), ElementsAre(3, 3, 5));
  EXPECT_THAT(pool("adaptive_max_pool2d", {x}, {{"size", Dims{1, 3}}}).to_vector<float>(), ElementsAre(5, 6, 6));
  const Value grad = image_row({2, 3, 4});
  EXPECT_THAT(pool("adaptive_avg_pool2d_gradient", {grad}, {{"size", Dims{1, 5}}}).to_vector<float>(), ElementsAre(1, 2, 1, 3, 2));
  EXPECT_THAT(run(op("adaptive_max_pool2d_gradient"), {grad, x})[0].to_vector<float>(), ElementsAre(2, 0, 0, 7, 0));
}

TEST(AdaptivePool2d, ASinglePixelGoesBackChannelsLast) {
  const Value grad = value(std::vector<float>(20, 1.f), {2, 10, 1, 1});
  EXPECT_EQ(pool("adaptive_avg_pool2d_gradient", {grad}, {{"size", 4}}).desc.strides, channels_last_strides({2, 10, 4, 4}));
}

}  // namespace
}  // namespace regrow
