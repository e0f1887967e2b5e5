// SPDX-License-Identifier: Apache-2.0
// interpolate: values by hand, sizes that do not divide, layouts, the adjoint, errors.
#include <gmock/gmock.h>

#include "tests/ops/values.h"

namespace regrow {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::error_of;
using ::testing::HasSubstr;
using testing::laid_out;
using testing::random_value;
using testing::run;
using testing::Value;
using testing::value;

Value square() { return value(std::vector<float>{1, 2, 3, 4}, {1, 1, 2, 2}); }

Op to(const Dims& size, std::string mode, bool align = false, std::string_view name = "interpolate") {
  return op(name, {{"size", size}, {"mode", std::move(mode)}, {"align_corners", align}});
}

TEST(Interpolate, NearestRepeatsPixels) {
  EXPECT_THAT(run(to({4, 4}, "nearest"), {square()})[0].to_vector<float>(),
              ElementsAre(1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4));
}

TEST(Interpolate, NearestTakesTheFloor) {  // of i 5 / 3: 0, 1, 3; of i 3 / 7: 0, 0, 0, 1, 1, 2, 2
  const Value row = value(std::vector<float>{0, 1, 2, 3, 4}, {1, 1, 1, 5}),
              three = value(std::vector<float>{0, 1, 2}, {1, 1, 1, 3});
  EXPECT_THAT(run(to({1, 3}, "nearest"), {row})[0].to_vector<float>(), ElementsAre(0, 1, 3));
  EXPECT_THAT(run(to({1, 7}, "nearest"), {three})[0].to_vector<float>(), ElementsAre(0, 0, 0, 1, 1, 2, 2));
}

TEST(Interpolate, BilinearMixesByDistance) {
  EXPECT_THAT(run(to({4, 4}, "bilinear"), {square()})[0].to_vector<float>(),
              ElementsAre(1, 1.25, 1.75, 2, 1.5, 1.75, 2.25, 2.5, 2.5, 2.75, 3.25, 3.5, 3, 3.25, 3.75, 4));
  const Value row = value(std::vector<float>{0, 3, 6}, {1, 1, 1, 3});
  EXPECT_THAT(run(to({1, 7}, "bilinear", true), {row})[0].to_vector<float>(), ElementsAre(0, 1, 2, 3, 4, 5, 6));
  EXPECT_THAT(run(to({1, 1}, "bilinear", true), {row})[0].to_vector<float>(), ElementsAre(0));
  EXPECT_THAT(run(to({1, 1}, "bilinear"), {row})[0].to_vector<float>(), ElementsAre(3));  // the centre
}

TEST(Interpolate, KeepsChannelsLastAndItsValues) {
  for (const char* mode : {"nearest", "bilinear"})
    for (std::int64_t channels : {1, 5, 70}) {
      const Value x = random_value(DType::f32, {2, channels, 3, 4}, 1);
      const Value plain = run(to({5, 9}, mode), {x})[0],
                  last = run(to({5, 9}, mode), {laid_out(x, channels_last_strides(x.desc.shape))})[0];
      EXPECT_TRUE(is_channels_last(last.desc.shape, last.desc.strides));
      EXPECT_TRUE(is_contiguous(plain.desc.shape, plain.desc.strides));
      EXPECT_EQ(plain.to_bytes(), last.to_bytes());
    }
}

TEST(Interpolate, TheGradientIsTheAdjoint) {
  for (const char* mode : {"nearest", "bilinear"}) {
    const Value x = random_value(DType::f64, {2, 3, 5, 4}, 1), y = random_value(DType::f64, {2, 3, 3, 9}, 2);
    const std::vector<double> there = run(to({3, 9}, mode), {x})[0].to_doubles(),
                              back = run(to({5, 4}, mode, false, "interpolate_gradient"), {y})[0].to_doubles(),
                              from_x = x.to_doubles(), from_y = y.to_doubles();
    double a = 0, b = 0;
    for (std::size_t i = 0; i < there.size(); ++i) a += there[i] * from_y[i];
    for (std::size_t i = 0; i < back.size(); ++i) b += back[i] * from_x[i];
    EXPECT_NEAR(a, b, 1e-12) << mode;
  }
}

TEST(Interpolate, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(error_of([&] { run(to({4, 4}, "cubic"), {square()}); }), HasSubstr("mode is nearest or bilinear, not cubic"));
  EXPECT_THAT(error_of([&] { run(to({4, 4}, "nearest", true), {square()}); }), HasSubstr("only bilinear can align corners"));
  EXPECT_THAT(error_of([&] { run(to({0, 4}, "nearest"), {square()}); }), HasSubstr("size must be at least 1"));
}

}  // namespace
}  // namespace regrow
