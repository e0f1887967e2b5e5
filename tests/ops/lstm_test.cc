// SPDX-License-Identifier: Apache-2.0
// lstm_cell and lstm: NumPy's values; a sequence is its cells; the fused gradients are those of the composition.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/eager.h"
#include "tests/ops/values.h"

namespace regrow {
namespace {

using testing::as_dtype;
using testing::random_value;
using testing::run;
using testing::Value;
using testing::value;

// sin(a i + b), row-major, as in the NumPy script.
Value wave(const Shape& shape, double a, double b) {
  std::vector<double> elements(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = std::sin(a * static_cast<double>(i) + b);
  return value(elements, shape);
}

void expect_near(const Value& got, const std::vector<double>& expected, double tolerance = 1e-14) {
  const std::vector<double> numbers = got.to_doubles();
  ASSERT_EQ(numbers.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(numbers[i], expected[i], tolerance) << i;
}

// numpy: i, f, g, o = split(z); c = s(f) c + s(i) tanh(g); h = s(o) tanh(c), for z = gates[t] + h w^T
TEST(Lstm, AgreesWithNumpy) {
  const Value gates = wave({3, 2, 8}, 0.8, 0.1), h = wave({2, 2}, 0.6, 0.3), c = wave({2, 2}, 0.5, -0.2),
              w = wave({8, 2}, 0.4, 0.7);
  const std::vector<double> hidden = {-0.11646286853080624, -0.2520261314837245,  -0.017907134061280708, -0.1765793432957905,
                                      -0.1591585375545653,  -0.24317468075045187, -0.08411231226753596,  -0.24964234402911362,
                                      -0.1607120660388354,  -0.28562818132924195, -0.13602033524980647,  -0.3027724997962101};
  const std::vector<double> cells = {-0.7414773266751458, -0.6457150363151294, -0.1487598450547738, -0.3867071056912529,
                                     -0.5380030531026023, -0.7302286531965808, -0.2742886259373246, -0.673756979254993,
                                     -0.485466370689583,  -0.7588566348317507, -0.3943630020626846, -0.7546613027643758};
  const std::vector<Value> out = run(op("lstm"), {gates, h, c, w});
  expect_near(out[0], hidden);
  expect_near(out[1], cells);
  const std::vector<Value> narrow =
      run(op("lstm"), {as_dtype(gates, DType::f32), as_dtype(h, DType::f32), as_dtype(c, DType::f32), as_dtype(w, DType::f32)});
  expect_near(narrow[0], hidden, 1e-6);
  expect_near(narrow[1], cells, 1e-6);
}

TEST(LstmCell, AgreesWithNumpy) {
  const Value gates = wave({2, 8}, 0.8, 0.1), c = wave({2, 2}, 0.5, -0.2);
  const std::vector<double> hidden = {-0.06080552440948379, -0.09709609157847085, 0.09924141018406474, 0.040801717085993845};
  const std::vector<double> cells = {-0.227039289558005, -0.2720201612013422, 0.37331091581542475, 0.10515487078512853};
  for (const auto& [dtype, tolerance] :
       {std::pair(DType::f64, 1e-15), std::pair(DType::f32, 1e-7), std::pair(DType::f16, 3e-4), std::pair(DType::bf16, 3e-3)}) {
    const std::vector<Value> out = run(op("lstm_cell"), {as_dtype(gates, dtype), as_dtype(c, dtype)});
    expect_near(out[0], hidden, tolerance);
    expect_near(out[1], cells, tolerance);
  }
}

TEST(Lstm, FusedGradientsAreThoseOfTheComposition) {
  direct::EagerRecorder recorder;
  const std::vector<Var> in = {
      recorder.put(random_value(DType::f64, {7, 5, 48}, 1)), recorder.put(random_value(DType::f64, {5, 12}, 2)),
      recorder.put(random_value(DType::f64, {5, 12}, 3)), recorder.put(random_value(DType::f64, {48, 12}, 4))};
  const std::vector<Var> out = recorder.apply(op("lstm"), in, {});
  const std::vector<Var> seeds = {recorder.put(random_value(DType::f64, {7, 5, 12}, 5)),
                                  recorder.put(random_value(DType::f64, {7, 5, 12}, 6))};
  for (std::size_t flowing : {1, 2}) {
    const std::vector<Var> fused = recorder.gradients(std::span(out).first(flowing), std::span(seeds).first(flowing), in, false);
    const std::vector<Var> composed =
        recorder.gradients(std::span(out).first(flowing), std::span(seeds).first(flowing), in, true);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Value a = recorder.value(fused[i]), b = recorder.value(composed[i]);
      expect_near(a, b.to_doubles(), 1e-13);
    }
  }
}

TEST(Lstm, RefusesWhatDoesNotFit) {
  const auto refused = [](std::vector<Shape> shapes, const char* name) {
    std::vector<Value> in;
    for (const Shape& shape : shapes) in.push_back(random_value(DType::f32, shape, 1));
    return testing::error_of([&] { run(op(name), in); });
  };
  EXPECT_NE(refused({{3, 2, 8}, {2, 2}, {2, 2}, {8, 3}}, "lstm").find("the weight has the shape (8, 2), not (8, 3)"),
            std::string::npos);
  EXPECT_NE(refused({{3, 2, 8}, {2, 3}, {2, 3}, {8, 3}}, "lstm").find("(T, N, 4 H) and (N, H)"), std::string::npos);
  EXPECT_NE(refused({{2, 8}, {2, 3}}, "lstm_cell").find("(N, 4 H) and (N, H), not (2, 8) and (2, 3)"), std::string::npos);
}

}  // namespace
}  // namespace regrow
