// SPDX-License-Identifier: Apache-2.0
// softmax and log_softmax: NumPy's values, stability, infinities, axes, layouts, element types.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/ops/values.h"

namespace regrow {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsNan;
using testing::laid_out;
using testing::random_value;
using testing::run;
using testing::Value;
using testing::value;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

Value softmax(const Value& x, std::int64_t axis = -1) { return run(op("softmax", {{"axis", axis}}), {x})[0]; }
Value log_softmax(const Value& x, std::int64_t axis = -1) { return run(op("log_softmax", {{"axis", axis}}), {x})[0]; }

void expect_near(const Value& got, const std::vector<double>& expected, double tolerance) {
  const std::vector<double> values = got.to_doubles();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << i;
}

// numpy: e = exp(x - x.max(1)); e / e.sum(1)
TEST(Softmax, AgreesWithNumpy) {
  const Value x = value<double>({1, 2, 3, 4, -1, 0, 1000, 999}, {2, 4});
  const std::vector<double> expected = {0.03205860328008498, 0.08714431874203256, 0.23688281808991016, 0.6439142598879724, 0, 0,
                                        0.7310585786300049,  0.26894142136999516};
  const std::vector<double> logs = {-3.4401896985611953, -2.4401896985611953, -1.4401896985611953,  -0.44018969856119533,
                                    -1001.3132616875182, -1000.3132616875182, -0.31326168751822281, -1.3132616875182228};
  expect_near(softmax(x), expected, 1e-15);
  expect_near(log_softmax(x), logs, 1e-15);
  expect_near(softmax(testing::as_dtype(x, DType::f32)), expected, 2e-7);
  expect_near(log_softmax(testing::as_dtype(x, DType::f32)), logs, 2e-7);
  expect_near(softmax(testing::as_dtype(x, DType::f16)), expected, 1e-3);
}

// Computed in f64 from the definition.
std::vector<double> by_definition(const Value& x, std::size_t axis, bool logs) {
  const Shape& shape = x.desc.shape;
  std::vector<double> values = x.to_doubles();
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  const std::int64_t n = shape[axis], outer = element_count(shape) / (inner * n);
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      auto at = [&](std::int64_t k) -> double& { return values[static_cast<std::size_t>((o * n + k) * inner + i)]; };
      double max = -inf, sum = 0;
      for (std::int64_t k = 0; k < n; ++k) max = std::max(max, at(k));
      for (std::int64_t k = 0; k < n; ++k) sum += std::exp(at(k) - max);
      for (std::int64_t k = 0; k < n; ++k) at(k) = logs ? at(k) - max - std::log(sum) : std::exp(at(k) - max) / sum;
    }
  return values;
}

TEST(Softmax, WorksAlongEveryAxisInEveryType) {
  const std::pair<DType, double> kinds[] = {{DType::f64, 1e-14}, {DType::f32, 1e-6}, {DType::f16, 2e-3}, {DType::bf16, 1e-2}};
  for (auto [dtype, tolerance] : kinds)
    for (const Shape& shape : {Shape{7}, Shape{5, 33}, Shape{3, 17, 4}, Shape{2, 3, 5, 19}, Shape{40, 1}, Shape{1, 1000}})
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        SCOPED_TRACE(std::string(name_of(dtype)) + to_string(shape) + " axis " + std::to_string(axis));
        const Value x = random_value(dtype, shape, 1, -8, 8);
        expect_near(softmax(x, static_cast<std::int64_t>(axis)), by_definition(x, axis, false), tolerance);
        expect_near(log_softmax(x, static_cast<std::int64_t>(axis) - static_cast<std::int64_t>(shape.size())),
                    by_definition(x, axis, true), tolerance);
      }
}

TEST(Softmax, BitsDependOnTheRowAlone) {
  for (DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    const Value x = random_value(dtype, {6, 21, 10}, 1, -3, 3);
    for (const Strides& strides : {Strides{1, 6, 126}, Strides{210, -10, 1}, Strides{210, 1, 21}, Strides{420, 20, 2}}) {
      const Value y = laid_out(x, strides, 8);
      for (std::int64_t axis = 0; axis < 3; ++axis) {
        EXPECT_EQ(softmax(y, axis).to_bytes(), softmax(x, axis).to_bytes()) << to_string(strides) << axis;
        EXPECT_EQ(log_softmax(y, axis).to_bytes(), log_softmax(x, axis).to_bytes()) << to_string(strides) << axis;
      }
    }
  }
}

TEST(Softmax, InfinitiesAndNans) {
  EXPECT_THAT(softmax(value<double>({-inf, -inf, -inf}, {3})).to_doubles(), Each(IsNan())) << "a row of -inf alone";
  EXPECT_THAT(log_softmax(value<double>({-inf, -inf}, {2})).to_doubles(), Each(IsNan()));
  for (DType dtype : {DType::f64, DType::f32}) {
    const Value masked = testing::as_dtype(value<double>({-inf, 0, -inf, 0}, {4}), dtype);
    EXPECT_THAT(softmax(masked).to_doubles(), ElementsAre(0, .5, 0, .5));
    EXPECT_EQ(log_softmax(masked).to_doubles()[0], -inf);
    EXPECT_THAT(softmax(testing::as_dtype(value<double>({1, nan, 2}, {3}), dtype)).to_doubles(), Each(IsNan()));
    EXPECT_THAT(softmax(testing::as_dtype(value<double>({1, 2, 3, 4, 5, 6, 7, 8, nan}, {9}), dtype)).to_doubles(), Each(IsNan()));
    // One row's trouble is not its neighbour's.
    const std::vector<double> rows = softmax(testing::as_dtype(value<double>({-inf, -inf, 0, 0}, {2, 2}), dtype)).to_doubles();
    EXPECT_TRUE(std::isnan(rows[0]) && std::isnan(rows[1]) && rows[2] == .5 && rows[3] == .5);
  }
}

TEST(Softmax, TakesScalarsAndEmptyTensors) {
  EXPECT_THAT(log_softmax(value<float>({0.6931f}, {})).to_vector<float>(), ElementsAre(0));
  EXPECT_THAT(softmax(value<float>({123}, {}), 0).to_vector<float>(), ElementsAre(1));
  EXPECT_EQ(softmax(value<float>({}, {0, 3})).desc.shape, (Shape{0, 3}));
  EXPECT_EQ(softmax(value<float>({}, {3, 0})).desc.shape, (Shape{3, 0}));
}

TEST(Softmax, SaysWhatDoesNotFit) {
  EXPECT_THAT(error_of([] { softmax(value<float>({1, 2}, {2}), 1); }), HasSubstr("softmax: "));
  EXPECT_THAT(error_of([] { softmax(value<std::int32_t>({1, 2}, {2})); }), HasSubstr("softmax: needs a floating type, not i32"));
}

}  // namespace
}  // namespace regrow
