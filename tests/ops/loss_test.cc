// SPDX-License-Identifier: Apache-2.0
// cross_entropy and its gradient: NumPy's values, ignored rows, smoothing, errors of the value.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "tests/ops/values.h"

namespace regrow {
namespace {

using testing::as_dtype;
using ::testing::DoubleNear;
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

Value cross_entropy(const Value& logits, const Value& targets, std::initializer_list<AttrArg> attrs = {}) {
  return run(op("cross_entropy", attrs), {logits, targets})[0];
}
Value gradient(const Value& grad, const Value& logits, const Value& targets, std::initializer_list<AttrArg> attrs = {}) {
  return run(op("cross_entropy_gradient", attrs), {grad, logits, targets})[0];
}
AttrArg reduction(const char* word) { return {"reduction", std::string(word)}; }

const Value logits = value<double>({2, 1, 0.5, 0.1, 3, -1, 1, 1, 1, 0, -2, 4}, {4, 3});
const Value targets = value<std::int64_t>({0, 1, 2, 0}, {4});

// numpy: lse = log(exp(l).sum(1)); lse - l[range(4), t]
TEST(CrossEntropy, AgreesWithNumpy) {
  EXPECT_THAT(cross_entropy(logits, targets).to_doubles(), ElementsAre(DoubleNear(1.4135841076709688, 1e-15)));
  EXPECT_THAT(cross_entropy(logits, targets, {reduction("sum")}).to_doubles(), ElementsAre(DoubleNear(5.654336430683875, 1e-14)));
  EXPECT_THAT(cross_entropy(logits, targets, {reduction("none")}).to_doubles(),
              ElementsAre(DoubleNear(0.4643687841079447, 1e-15), DoubleNear(0.07077421896049119, 1e-15),
                          DoubleNear(1.0986122886681096, 1e-15), DoubleNear(4.020581138947329, 1e-15)));
  EXPECT_THAT(cross_entropy(as_dtype(logits, DType::f32), targets).to_doubles(),
              ElementsAre(DoubleNear(1.4135841076709688, 2e-7)));
  EXPECT_THAT(cross_entropy(as_dtype(logits, DType::f16), targets).to_doubles(),
              ElementsAre(DoubleNear(1.4135841076709688, 1e-3)));
}

TEST(CrossEntropy, TheGradientAgreesWithNumpy) {
  const std::vector<double> expected = {-0.09286707019705936, 0.05780597440553727, 0.03506109579152213, 0.01281590142708592,
                                        -0.01708194442368774, 0.00426604299660186, 0.08333333333333334, 0.08333333333333334,
                                        -0.16666666666666666, -0.2455143662991677, 0.00060706450739783, 0.24490730179176992};
  const std::vector<double> got = gradient(value<double>({1}, {}), logits, targets).to_doubles();
  const std::vector<double> twice = gradient(value<double>({2}, {}), logits, targets).to_doubles();
  const std::vector<double> sum = gradient(value<double>({1}, {}), logits, targets, {reduction("sum")}).to_doubles();
  const std::vector<double> rows = gradient(value<double>({1, 0, -2, 4}, {4}), logits, targets, {reduction("none")}).to_doubles();
  const double factors[] = {1, 0, -2, 4};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], 1e-15);
    EXPECT_NEAR(twice[i], 2 * expected[i], 2e-15);
    EXPECT_NEAR(sum[i], 4 * expected[i], 2e-15);
    EXPECT_NEAR(rows[i], 4 * factors[i / 3] * expected[i], 1e-14);
  }
}

TEST(CrossEntropy, IsStable) {
  const Value large = value<float>({1000, 0, -1000, 3e38f, -3e38f, 0}, {2, 3});
  EXPECT_THAT(cross_entropy(large, value<std::int32_t>({1, 0}, {2}), {reduction("none")}).to_vector<float>(),
              ElementsAre(1000, 0));
  const Value certain = value<float>({0, -std::numeric_limits<float>::infinity()}, {1, 2});
  EXPECT_THAT(cross_entropy(certain, value<std::int32_t>({0}, {1})).to_vector<float>(), ElementsAre(0));
  EXPECT_THAT(cross_entropy(certain, value<std::int32_t>({1}, {1})).to_vector<float>(),
              ElementsAre(std::numeric_limits<float>::infinity()));
}

TEST(CrossEntropy, TakesTargetsOfEveryIntegerType) {
  const std::vector<double> expected = cross_entropy(logits, targets).to_doubles();
  for (DType dtype : {DType::i8, DType::i16, DType::i32, DType::u8, DType::u16, DType::u32, DType::u64})
    EXPECT_EQ(cross_entropy(logits, as_dtype(targets, dtype)).to_doubles(), expected) << name_of(dtype);
}

TEST(CrossEntropy, ReadsEveryLayout) {
  const Value wide = random_value(DType::f32, {9, 37}, 1),
              classes = as_dtype(random_value(DType::f64, {9}, 2, 0, 37), DType::i64), one = value<float>({1}, {});
  for (const Strides& strides : {Strides{1, 9}, Strides{-37, 1}, Strides{80, 2}}) {
    EXPECT_EQ(cross_entropy(laid_out(wide, strides), laid_out(classes, {-3})).to_bytes(),
              cross_entropy(wide, classes).to_bytes());
    EXPECT_EQ(gradient(one, laid_out(wide, strides), laid_out(classes, {-3})).to_bytes(),
              gradient(one, wide, classes).to_bytes());
  }
}

TEST(CrossEntropy, ATargetThatIsNoClassIsAnError) {
  const Value ten = random_value(DType::f32, {2, 10}, 1);
  EXPECT_EQ(error_of([&] {
              cross_entropy(ten, value<std::int64_t>({3, 12}, {2}));
            }),
            "cross_entropy: target 12 is out of range for 10 classes");
  // PyTorch issue 12670: 5 classes, -1 is ignored, -4 is neither.
  const Value five = random_value(DType::f32, {1, 5}, 1);
  EXPECT_THAT(error_of([&] {
                cross_entropy(five, value<std::int64_t>({-4}, {1}), {{"ignore_index", -1}});
              }),
              HasSubstr("target -4 is out of range for 5 classes"));
  EXPECT_THAT(error_of([&] { cross_entropy(five, value<std::int64_t>({-1}, {1})); }), HasSubstr("target -1 is out of range"));
  EXPECT_THAT(error_of([&] { cross_entropy(five, value<std::uint64_t>({std::uint64_t{1} << 63}, {1})); }),
              HasSubstr("out of range"));
  EXPECT_THAT(error_of([&] { gradient(value<float>({1}, {}), five, value<std::int64_t>({5}, {1})); }),
              HasSubstr("target 5 is out of range for 5 classes"));
  EXPECT_TRUE(find_op("cross_entropy")->fails_by_value && find_op("cross_entropy_gradient")->fails_by_value);
}

// PyTorch issue 91383: smoothing 0.1 and an ignored row give the same as dropping the row.
TEST(CrossEntropy, SmoothsAndIgnores) {
  const Value three = value<double>({1, 0, 0, 1, 0, 0, 1, 0, 0}, {3, 3}), some = value<std::int64_t>({0, 1, -100}, {3});
  EXPECT_THAT(cross_entropy(three, some, {{"ignore_index", -100}, {"label_smoothing", 0.1}}).to_doubles(),
              ElementsAre(DoubleNear(1.0681113805987175, 1e-15)));
  const std::vector<double> grad =
      gradient(value<double>({1}, {}), three, some, {{"ignore_index", -100}, {"label_smoothing", 0.1}}).to_doubles();
  for (std::size_t i = 6; i < 9; ++i) EXPECT_EQ(grad[i], 0);
  EXPECT_NEAR(grad[0] + grad[1] + grad[2], 0, 1e-16);
  // PyTorch issue 15508: 255 is ignored although it is no class.
  const Value six = random_value(DType::f32, {6, 3}, 1);
  const std::vector<float> losses =
      cross_entropy(six, value<std::uint8_t>({0, 1, 255, 0, 1, 2}, {6}), {{"ignore_index", 255}, reduction("none")})
          .to_vector<float>();
  EXPECT_EQ(losses[2], 0);
  EXPECT_GT(losses[1], 0);
}

// numpy, with weights (.5, 2, 1.25): lp = log_softmax(l); q = eps / 3 w, at the target (1 - eps) w more; -(q lp).sum(1)
TEST(CrossEntropy, ClassWeightsAgreeWithNumpy) {
  std::vector<double> wave(12);
  for (std::size_t i = 0; i < 12; ++i) wave[i] = std::sin(1.7 * static_cast<double>(i) + 0.3);
  const Value rows = value(wave, {4, 3}), classes = value<std::int64_t>({0, 2, 1, 2}, {4}), weight = value<float>({0.5, 2, 1.25}, {3});
  const auto loss = [&](std::initializer_list<AttrArg> attrs, const Value& targets) {
    return run(op("cross_entropy", attrs), {rows, targets, weight})[0].to_doubles();
  };
  const auto expect = [](const std::vector<double>& got, const std::vector<double>& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-14) << i;
  };
  const std::vector<double> plain = {0.5947556366156058, 1.1006742396480012, 3.3637359708631647, 1.027748884090603};
  const std::vector<double> smooth = {0.6774403485790669, 1.1136988111731894, 3.190860447266718, 1.1050943860957259};
  expect(loss({reduction("none")}, classes), plain);
  expect(loss({reduction("sum")}, classes), {6.086914731217375});
  expect(loss({}, classes), {1.2173829462434749});
  expect(loss({reduction("none"), {"label_smoothing", 0.1}}, classes), smooth);
  expect(loss({{"label_smoothing", 0.1}}, classes), {1.21741879862294});
  expect(loss({{"label_smoothing", 0.1}, {"ignore_index", -100}}, value<std::int64_t>({0, 2, -100, 2}, {4})), {0.9654111819493273});
  const auto back = [&](std::initializer_list<AttrArg> attrs) {
    return run(op("cross_entropy_gradient", attrs), {value<double>({1}, {}), rows, classes, weight})[0].to_doubles();
  };
  expect(back({}), {-0.06956300185197815, 0.05622919651374085, 0.013333805338237317, 0.02666201373105646, 0.11969817588333873,
                    -0.14636018961439518, 0.04417372184737011, -0.32558953714847594, 0.2814158153011058, 0.10533421058537143,
                    0.034799748851859595, -0.14013395943723106});
  expect(back({{"label_smoothing", 0.1}}),
         {-0.058330785463108215, 0.05133024265746865, 0.00700054280563958, 0.02332868039772313, 0.1063648425500054,
          -0.1296935229477285, 0.0391838739447604, -0.3017132628387414, 0.262529388893981, 0.10200087725203807, 0.021466415518526263,
          -0.12346729277056441});
  EXPECT_THAT(error_of([&] { run(op("cross_entropy"), {rows, classes, value<float>({1, 2}, {2})}); }),
              HasSubstr("there is one weight for each class, not (2,) for (4, 3)"));
}

// PyTorch issues 116349, 75181: nothing counts. The mean of nothing is NaN, its gradient 0.
TEST(CrossEntropy, WhereNothingCounts) {
  const Value ignored = value<std::int64_t>({7, 7, 7, 7}, {4});
  EXPECT_THAT(cross_entropy(logits, ignored, {{"ignore_index", 7}}).to_doubles(), ElementsAre(IsNan()));
  EXPECT_THAT(cross_entropy(logits, ignored, {{"ignore_index", 7}, reduction("sum")}).to_doubles(), ElementsAre(0));
  EXPECT_THAT(cross_entropy(logits, ignored, {{"ignore_index", 7}, reduction("none")}).to_doubles(), Each(0));
  EXPECT_THAT(gradient(value<double>({1}, {}), logits, ignored, {{"ignore_index", 7}}).to_doubles(), Each(0));
  const Value nothing = value<float>({}, {0, 3}), none = value<std::int64_t>({}, {0});
  EXPECT_TRUE(std::isnan(cross_entropy(nothing, none).to_vector<float>()[0]));
  EXPECT_EQ(gradient(value<float>({1}, {}), nothing, none).desc.shape, (Shape{0, 3}));
}

TEST(CrossEntropy, SaysWhatDoesNotFit) {
  EXPECT_THAT(error_of([] {
                cross_entropy(logits, value<std::int64_t>({0, 1}, {2}));
              }),
              HasSubstr("one target for each row of logits, not (2,) for (4, 3)"));
  EXPECT_THAT(error_of([] { cross_entropy(logits, logits); }), HasSubstr("targets are integers, not f64"));
  EXPECT_THAT(error_of([] { cross_entropy(targets, targets); }), HasSubstr("logits are of a floating type, not i64"));
  EXPECT_THAT(error_of([] { cross_entropy(logits, targets, {reduction("max")}); }),
              HasSubstr("reduction is none, sum or mean, not 'max'"));
  EXPECT_THAT(error_of([] {
                cross_entropy(logits, targets, {{"label_smoothing", 2}});
              }),
              HasSubstr("label_smoothing lies in [0, 1], not 2"));
}

}  // namespace
}  // namespace regrow
