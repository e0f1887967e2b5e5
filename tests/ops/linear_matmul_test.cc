// SPDX-License-Identifier: Apache-2.0
// matmul: values (NumPy's, or a loop in f64), shapes, layouts, element types, errors.
#include <gmock/gmock.h>

#include <cmath>

#include "regrow/kernels/matmul.h"
#include "regrow/kernels/parallel.h"
#include "tests/ops/values.h"

namespace regrow {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::laid_out;
using testing::random_value;
using testing::run;
using testing::Value;
using testing::value;

Value matmul(const Value& a, const Value& b) { return run(op("matmul"), {a, b}).at(0); }

// Row-major elements of the product by the definition, in f64. Leading axes broadcast.
std::vector<double> product_by_loops(const Value& a, const Value& b) {
  Shape as = a.desc.shape, bs = b.desc.shape;
  if (as.size() == 1) as.insert(0, 1);
  if (bs.size() == 1) bs.push_back(1);
  const std::int64_t m = as[as.size() - 2], k = as.back(), n = bs.back();
  const std::vector<double> x = a.to_doubles(), y = b.to_doubles();
  Shape a_batch = as, b_batch = bs;
  for (int i = 0; i < 2; ++i) a_batch.erase(a_batch.size() - 1), b_batch.erase(b_batch.size() - 1);
  const Shape batch = broadcast_shapes(a_batch, b_batch);
  Strides a_strides = broadcast_strides(a_batch, contiguous_strides(a_batch), batch),
          b_strides = broadcast_strides(b_batch, contiguous_strides(b_batch), batch);
  std::vector<double> out;
  walk<2>(batch, {a_strides, b_strides}, [&](std::int64_t p, std::int64_t q) {
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += x[static_cast<std::size_t>((p * m + i) * k + l)] * y[static_cast<std::size_t>((q * k + l) * n + j)];
        out.push_back(sum);
      }
  });
  return out;
}

// |error| <= tolerance * k * max|a| max|b|, the bound of a sum of k rounded products (plus the rounding of the result).
void expect_close(const Value& out, const std::vector<double>& expected, double tolerance) {
  const std::vector<double> got = out.to_doubles();
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], tolerance) << "element " << i;
}

TEST(Matmul, MultipliesMatrices) {
  const Value a = value<float>({1, 2, 3, 4, 5, 6}, {2, 3}), b = value<float>({7, 8, 9, 10, 11, 12}, {3, 2});
  EXPECT_THAT(matmul(a, b).to_vector<float>(), ElementsAre(58, 64, 139, 154));
}

TEST(Matmul, TakesVectorsAsRowsAndColumns) {
  const Value row = value<float>({1, 2, 3}, {3}), b = value<float>({7, 8, 9, 10, 11, 12}, {3, 2});
  const Value left = matmul(row, b);
  EXPECT_EQ(left.desc.shape, (Shape{2}));
  EXPECT_THAT(left.to_vector<float>(), ElementsAre(58, 64));
  const Value right = matmul(value<float>({1, 2, 3, 4, 5, 6}, {2, 3}), row);
  EXPECT_EQ(right.desc.shape, (Shape{2}));
  EXPECT_THAT(right.to_vector<float>(), ElementsAre(14, 32));
  const Value dot = matmul(row, row);
  EXPECT_EQ(dot.desc.shape, Shape{});
  EXPECT_THAT(dot.to_vector<float>(), ElementsAre(14));
}

TEST(Matmul, AProductOverNothingIsZero) {
  EXPECT_THAT(matmul(value<float>({}, {2, 0}), value<float>({}, {0, 2})).to_vector<float>(), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(matmul(value<std::int32_t>({}, {2, 0}), value<std::int32_t>({}, {0, 2})).to_vector<std::int32_t>(),
              ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(matmul(value<float>({}, {0, 3}), value<float>({1, 2, 3}, {3, 1})).desc.shape, (Shape{0, 1}));
  EXPECT_EQ(matmul(random_value(DType::f32, {0, 2, 3}, 1), random_value(DType::f32, {3, 4}, 2)).desc.shape, (Shape{0, 2, 4}));
}

TEST(Matmul, SaysWhichSizesDiffer) {
  auto message = [](const Shape& a, const Shape& b) {
    return testing::error_of([&] { matmul(random_value(DType::f32, a, 1), random_value(DType::f32, b, 2)); });
  };
  EXPECT_EQ(message({3, 4}, {5, 6}), "matmul: inner sizes differ: (3, 4) x (5, 6)");
  EXPECT_EQ(message({3, 0}, {1, 4}), "matmul: inner sizes differ: (3, 0) x (1, 4)");
  EXPECT_EQ(message({2, 3, 4}, {3, 4, 5}), "matmul: leading axes do not broadcast: (2, 3, 4) x (3, 4, 5)");
  EXPECT_THAT(message({}, {2, 2}), HasSubstr("a scalar has no rows"));
  EXPECT_THAT(testing::error_of([] {
                matmul(value<bool>({true}, {1, 1}), value<bool>({true}, {1, 1}));
              }),
              HasSubstr("multiplies numbers, not bool"));
}

struct Case {
  Shape a, b;
};

class MatmulShapes : public ::testing::TestWithParam<Case> {};

TEST_P(MatmulShapes, AgreeWithLoopsInEveryFloatingType) {
  const auto& [a_shape, b_shape] = GetParam();
  const auto k = static_cast<double>(a_shape.back());
  const std::pair<DType, double> kinds[] = {{DType::f64, 1e-15 * (k + 1)},
                                            {DType::f32, 1.2e-7 * (k + 1)},
                                            {DType::f16, 1e-3 * std::sqrt(k + 1)},
                                            {DType::bf16, 8e-3 * std::sqrt(k + 1)}};
  for (auto [dtype, tolerance] : kinds) {
    SCOPED_TRACE(name_of(dtype));
    const Value a = random_value(dtype, a_shape, 1), b = random_value(dtype, b_shape, 2);
    const Value out = matmul(a, b);
    EXPECT_EQ(out.desc.dtype, dtype);
    expect_close(out, product_by_loops(a, b), tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(All, MatmulShapes,
                         ::testing::Values(Case{{1, 1}, {1, 1}}, Case{{5, 7}, {7, 3}}, Case{{16, 16}, {16, 16}},
                                           Case{{33, 65}, {65, 47}}, Case{{128, 300}, {300, 10}}, Case{{1, 513}, {513, 257}},
                                           Case{{257, 513}, {513, 1}}, Case{{4, 6, 5}, {5, 3}}, Case{{3, 40, 50}, {50, 60}},
                                           Case{{7, 20, 30}, {7, 30, 40}}, Case{{2, 1, 20, 30}, {3, 30, 40}},
                                           Case{{50, 60}, {4, 60, 20}}, Case{{600}, {600, 30}}, Case{{3, 70, 80}, {80}},
                                           Case{{2, 3, 1, 64}, {2, 1, 64, 9}}, Case{{200, 200}, {200, 200}}));

TEST(Matmul, ReadsEveryLayout) {
  for (std::int64_t size : {5, 40}) {
    const Shape shape{3, size, size + 1}, other{3, size + 1, size + 2};
    const Value a = random_value(DType::f32, shape, 1), b = random_value(DType::f32, other, 2);
    const std::vector<double> expected = product_by_loops(a, b);
    auto layouts = [](const Shape& s) {
      const std::int64_t x = s[0], y = s[1], z = s[2];
      return std::vector<Strides>{{y * z, z, 1},         {y * z, 1, y},           {1, x * z, x},  {z, x * z, 1},
                                  {2 * y * z, 2 * z, 2}, {y * (z + 3), z + 3, 1}, {y * z, -z, 1}, {-y * z, z, -1}};
    };
    for (const Strides& as : layouts(shape))
      for (const Strides& bs : layouts(other)) {
        SCOPED_TRACE(to_string(as) + " x " + to_string(bs));
        expect_close(matmul(laid_out(a, as), laid_out(b, bs)), expected, 1.2e-7 * 50);
      }
  }
}

TEST(Matmul, ReadsRepeatedRowsAndColumns) {
  const Value b = random_value(DType::f32, {50, 30}, 2);
  std::vector<float> rows;
  for (int i = 0; i < 40 * 50; ++i) rows.push_back(static_cast<float>(i % 50) / 50);
  const Value wide = laid_out(value(rows, {40, 50}), {0, 1});
  const std::vector<float> out = matmul(wide, b).to_vector<float>();
  expect_close(matmul(wide, b), product_by_loops(wide, b), 1.2e-7 * 51);
  EXPECT_TRUE(std::equal(out.begin(), out.begin() + 30, out.begin() + 30 * 39)) << "equal rows give equal rows";
}

TEST(Matmul, BitsDoNotDependOnAddresses) {
  for (DType dtype : {DType::f32, DType::bf16, DType::f64})
    for (std::int64_t n : {8, 37, 130}) {
      const Value a = random_value(dtype, {n, n + 3}, 1), b = random_value(dtype, {n + 3, n}, 2);
      const std::vector<std::byte> expected = matmul(a, b).to_bytes();
      for (std::size_t shift : {8, 16, 24, 32, 56})
        EXPECT_EQ(matmul(laid_out(a, a.desc.strides, shift), laid_out(b, b.desc.strides, 64 - shift)).to_bytes(), expected)
            << n << " " << shift;
    }
}

TEST(Matmul, AnInsertedAxisChangesNothing) {
  const Value a = random_value(DType::f32, {64, 80}, 1), b = random_value(DType::f32, {80, 48}, 2);
  for (std::int64_t stride : {80, 1, 12345}) {  // of an axis of length 1: any
    Value same = a;
    same.desc.shape = {64, 1, 80}, same.desc.strides = {80, stride, 1};
    EXPECT_EQ(matmul(same, b).to_bytes(), matmul(a, b).to_bytes());
  }
}

template <class T>
class MatmulIntegers : public ::testing::Test {};
using Integers = ::testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                  std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(MatmulIntegers, Integers);

// NumPy: integers wrap around.
TYPED_TEST(MatmulIntegers, WrapAround) {
  using T = TypeParam;
  const std::int64_t m = 6, k = 9, n = 7;
  std::mt19937_64 bits(3);
  std::vector<T> a(m * k), b(k * n), expected(m * n);
  for (T& x : a) x = static_cast<T>(bits());
  for (T& x : b) x = static_cast<T>(bits());
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      std::uint64_t sum = 0;
      for (std::int64_t l = 0; l < k; ++l)
        sum += static_cast<std::uint64_t>(a[static_cast<std::size_t>(i * k + l)]) *
               static_cast<std::uint64_t>(b[static_cast<std::size_t>(l * n + j)]);
      expected[static_cast<std::size_t>(i * n + j)] = static_cast<T>(sum);
    }
  EXPECT_EQ(matmul(value(a, {m, k}), value(b, {k, n})).template to_vector<T>(), expected);
  EXPECT_EQ(matmul(laid_out(value(a, {m, k}), {1, m}), laid_out(value(b, {k, n}), {1, k})).template to_vector<T>(), expected);
}

TEST(Matmul, MixedTypesArePromoted) {
  const Value out = matmul(value<std::int32_t>({1, 2, 3, 4}, {2, 2}), value<float>({.5f, 0, 0, .25f}, {2, 2}));
  EXPECT_THAT(out.to_vector<float>(), ElementsAre(.5f, .5f, 1.5f, 1.f));
  EXPECT_THAT(matmul(value<std::int8_t>({100}, {1, 1}), value<std::int16_t>({300}, {1, 1})).to_vector<std::int16_t>(),
              ElementsAre(30000));
}

TEST(Matmul, InfinityAndNanFollowTheDefinition) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  for (std::int64_t n : {2, 40}) {  // the engine's own product, and oneDNN's
    std::vector<float> a(static_cast<std::size_t>(n * n), 0), b(static_cast<std::size_t>(n * n), 1);
    a[0] = inf, a[static_cast<std::size_t>(n)] = nan;
    b[1] = 0;  // inf * 0
    const std::vector<float> out = matmul(value(a, {n, n}), value(b, {n, n})).to_vector<float>();
    EXPECT_EQ(out[0], inf);
    EXPECT_TRUE(std::isnan(out[1]));
    EXPECT_TRUE(std::isnan(out[static_cast<std::size_t>(n)]));
    if (n > 2) {
      EXPECT_EQ(out[static_cast<std::size_t>(2 * n)], 0);
    }
  }
}

// Large enough for two threads; oneDNN neither reads nor writes a range of columns of a row-major matrix.
TEST(Matmul, EveryLayoutIsRightOnSeveralThreads) {
  const int before = kernels::kernel_threads();
  kernels::set_kernel_threads(2);
  for (const auto& [m, n] : {std::pair{64, 300}, std::pair{300, 64}}) {
    const Value rows = random_value(DType::f32, {m, 784}, 1), columns = laid_out(rows, {1, m});
    const Value right = random_value(DType::f32, {784, n}, 2), right_columns = laid_out(right, {1, 784});
    const std::vector<double> expected = product_by_loops(rows, right);
    for (const Value* a : {&rows, &columns}) {
      for (const Value* b : {&right, &right_columns}) expect_close(matmul(*a, *b), expected, 784 * 1e-6);
    }
  }
  kernels::set_kernel_threads(before);
}

}  // namespace
}  // namespace regrow
