// SPDX-License-Identifier: Apache-2.0
// gelu and silu with their slopes: NumPy's values, limits far out, NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/values.h"

namespace regrow {
namespace {

using testing::as_dtype;
using testing::run;
using testing::Value;
using testing::value;

const std::vector<double> points = {-3, -1, -0.5, 0, 0.5, 1, 3};

struct Function {
  const char* name;
  const char* approximate;  // null: has no such attribute
  std::vector<double> values, slopes;
};

// numpy, with math.erf
const std::vector<Function> functions = {{"gelu",
                                          "none",
                                          {-0.00404969409489031, -0.15865525393145707, -0.15426876936299344, 0.0,
                                           0.34573123063700656, 0.8413447460685429, 2.99595030590511},
                                          {-0.011945647204183922, -0.08331547058768629, 0.13250487534383715, 0.5,
                                           0.8674951246561629, 1.0833154705876864, 1.011945647204184}},
                                         {"gelu",
                                          "tanh",
                                          {-0.0036373920817729943, -0.1588080093917233, -0.15428599017485606, 0.0,
                                           0.34571400982514394, 0.8411919906082768, 2.996362607918227},
                                          {-0.011584166630969516, -0.08296408384578258, 0.13263009646535764, 0.5,
                                           0.8673699035346424, 1.0829640838457826, 1.0115841666309695}},
                                         {"silu",
                                          nullptr,
                                          {-0.14227761953270035, -0.2689414213699951, -0.1887703343990727, 0.0,
                                           0.3112296656009273, 0.7310585786300049, 2.8577223804672998},
                                          {-0.08810410601516962, 0.07232948812851325, 0.2600388126973482, 0.5, 0.7399611873026519,
                                           0.9276705118714869, 1.0881041060151693}}};

Op applied(const Function& f, const std::string& suffix) {
  const std::string name = f.name + suffix;
  return f.approximate ? op(name, {{"approximate", std::string(f.approximate)}}) : op(name);
}

void expect_near(const Value& got, const std::vector<double>& expected, double tolerance) {
  const std::vector<double> numbers = got.to_doubles();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(numbers[i], expected[i], tolerance) << i;
}

TEST(Activations, AgreeWithNumpy) {
  const Value x = value(points, {7}), ones = value(std::vector<double>(7, 1), {7});
  for (const Function& f : functions)
    for (const auto& [dtype, tolerance] :
         {std::pair(DType::f64, 2e-16), std::pair(DType::f32, 3e-7), std::pair(DType::bf16, 2e-2), std::pair(DType::f16, 2e-3)}) {
      SCOPED_TRACE(f.name + std::string(" ") + std::string(name_of(dtype)));
      expect_near(run(applied(f, ""), {as_dtype(x, dtype)})[0], f.values, 4 * tolerance);
      expect_near(run(applied(f, "_gradient"), {as_dtype(ones, dtype), as_dtype(x, dtype)})[0], f.slopes, 4 * tolerance);
    }
}

TEST(Activations, TendToTheirLimitsFarOut) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (DType dtype : {DType::f32, DType::f64})
    for (const Function& f : functions) {
      SCOPED_TRACE(f.name + std::string(" ") + std::string(name_of(dtype)));
      const Value x = as_dtype(value<double>({-infinity, -1e30, -200, 200, infinity, NAN}, {6}), dtype);
      const std::vector<double> y = run(applied(f, ""), {x})[0].to_doubles();
      const std::vector<double> slope =
          run(applied(f, "_gradient"), {as_dtype(value(std::vector<double>(6, 1), {6}), dtype), x})[0].to_doubles();
      EXPECT_EQ(y[0], 0);
      EXPECT_EQ(y[1], 0);
      EXPECT_NEAR(y[2], 0, 1e-80);
      EXPECT_EQ(y[3], 200);
      EXPECT_EQ(y[4], infinity);
      EXPECT_TRUE(std::isnan(y[5]) && std::isnan(slope[5]));
      for (int i : {0, 1, 2}) EXPECT_NEAR(slope[static_cast<std::size_t>(i)], 0, 1e-80) << i;
      for (int i : {3, 4}) EXPECT_EQ(slope[static_cast<std::size_t>(i)], 1) << i;
    }
}

}  // namespace
}  // namespace regrow
