// SPDX-License-Identifier: Apache-2.0
// Element types, their promotion and literals. Expected values: NumPy 1.24 where it has the types, the array API otherwise.
#include "regrow/tensor/dtype.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "regrow/base/error.h"
#include "regrow/tensor/half.h"
#include "regrow/tensor/visit.h"

namespace regrow {
namespace {

using ::testing::HasSubstr;
using enum DType;

template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

// numpy.promote_types, row by row: bool, i8 … i64, u8 … u64; then f16, f32, f64 among themselves.
constexpr DType integers[] = {boolean, i8, i16, i32, i64, u8, u16, u32, u64};
constexpr DType integer_table[9][9] = {
    {boolean, i8, i16, i32, i64, u8, u16, u32, u64},  // bool
    {i8, i8, i16, i32, i64, i16, i32, i64, f64},      // i8
    {i16, i16, i16, i32, i64, i16, i32, i64, f64},    // i16
    {i32, i32, i32, i32, i64, i32, i32, i64, f64},    // i32
    {i64, i64, i64, i64, i64, i64, i64, i64, f64},    // i64
    {u8, i16, i16, i32, i64, u8, u16, u32, u64},      // u8
    {u16, i32, i32, i32, i64, u16, u16, u32, u64},    // u16
    {u32, i64, i64, i64, i64, u32, u32, u32, u64},    // u32
    {u64, f64, f64, f64, f64, u64, u64, u64, u64},    // u64
};
constexpr DType floatings[] = {f16, bf16, f32, f64};
constexpr DType floating_table[4][4] = {{f16, f32, f32, f64}, {f32, bf16, f32, f64}, {f32, f32, f32, f64}, {f64, f64, f64, f64}};

TEST(Promotion, OfIntegersIsNumPys) {
  for (int a = 0; a < 9; ++a)
    for (int b = 0; b < 9; ++b)
      EXPECT_EQ(promote(integers[a], integers[b]), integer_table[a][b]) << name_of(integers[a]) << " " << name_of(integers[b]);
}

TEST(Promotion, OfFloatingTypesIsTheWiderOrF32OfTwoShortOnes) {
  for (int a = 0; a < 4; ++a)
    for (int b = 0; b < 4; ++b) EXPECT_EQ(promote(floatings[a], floatings[b]), floating_table[a][b]);
}

// An integer never widens a floating type: i32 and bf16 is bf16 (so that 257 + 0 in bf16 is 256: documented, not hidden).
TEST(Promotion, OfAnIntegerWithAFloatingTypeIsThatType) {
  for (DType floating : floatings)
    for (DType integer : integers) {
      EXPECT_EQ(promote(integer, floating), floating);
      EXPECT_EQ(promote(floating, integer), floating);
    }
  EXPECT_EQ(static_cast<float>(BFloat16(257.0f)), 256.0f);
}

TEST(Promotion, OfALiteralWidensItsKindOnly) {
  for (int d = 0; d < dtype_count; ++d) {
    const auto dtype = static_cast<DType>(d);
    EXPECT_EQ(promote(dtype, Scalar(true)), dtype);
    EXPECT_EQ(promote(dtype, Scalar(2)), dtype == boolean ? i64 : dtype);
    EXPECT_EQ(promote(dtype, Scalar(0.5)), is_floating(dtype) ? dtype : f32);
  }
}

TEST(DTypes, HaveNamesAndSizes) {
  const std::map<std::string_view, std::size_t> sizes = {{"bool", 1}, {"i8", 1},  {"i16", 2}, {"i32", 4}, {"i64", 8},
                                                         {"u8", 1},   {"u16", 2}, {"u32", 4}, {"u64", 8}, {"f16", 2},
                                                         {"bf16", 2}, {"f32", 4}, {"f64", 8}};
  EXPECT_EQ(sizes.size(), static_cast<std::size_t>(dtype_count));
  for (const auto& [name, size] : sizes) {
    EXPECT_EQ(name_of(dtype_named(name)), name);
    EXPECT_EQ(size_of(dtype_named(name)), size);
  }
  EXPECT_THAT(error_of([] { dtype_named("float"); }), HasSubstr("no element type is named 'float'"));
}

TEST(DTypes, MapToCppTypesAndBack) {
  for (int d = 0; d < dtype_count; ++d)
    visit_type(static_cast<DType>(d), [&]<class T>(Type<T>) {
      EXPECT_EQ(dtype_of<T>(), static_cast<DType>(d));
      EXPECT_EQ(sizeof(T), size_of(static_cast<DType>(d)));
    });
}

template <class T>
T written(const Scalar& value) {
  T element{};
  write_scalar(value, dtype_of<T>(), &element);
  return element;
}

TEST(Literals, AreWrittenIfTheyFit) {
  EXPECT_EQ(written<std::int8_t>(-128), -128);
  EXPECT_EQ(written<std::uint8_t>(255), 255);
  EXPECT_EQ(written<std::uint64_t>(std::numeric_limits<std::uint64_t>::max()), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(written<std::int64_t>(std::numeric_limits<std::int64_t>::min()), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(written<std::int64_t>(-0x1p63), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(written<std::int32_t>(2.9), 2);
  EXPECT_EQ(written<std::int32_t>(-2.9), -2);
  EXPECT_EQ(written<std::uint8_t>(-0.5), 0);
  EXPECT_EQ(written<std::int8_t>(-128.5), -128);
  EXPECT_EQ(written<bool>(0.25), true);
  EXPECT_EQ(written<float>(3), 3.0f);
  EXPECT_EQ(written<double>(true), 1.0);
}

TEST(Literals, ThatDoNotFitAreErrors) {
  EXPECT_THAT(error_of([] { written<std::int8_t>(128); }), HasSubstr("128 does not fit in i8"));
  EXPECT_THAT(error_of([] { written<std::uint8_t>(-1); }), HasSubstr("-1 does not fit in u8"));
  EXPECT_THAT(error_of([] { written<std::uint8_t>(-1.0); }), HasSubstr("-1 does not fit in u8"));
  EXPECT_THAT(error_of([] { written<std::int64_t>(std::numeric_limits<std::uint64_t>::max()); }),
              HasSubstr("does not fit in i64"));
  EXPECT_THAT(error_of([] { written<std::int64_t>(0x1p63); }), HasSubstr("does not fit in i64"));
  EXPECT_THAT(error_of([] { written<std::uint64_t>(0x1p64); }), HasSubstr("does not fit in u64"));
  EXPECT_THAT(error_of([] { written<std::int32_t>(std::nan("")); }), HasSubstr("nan does not fit in i32"));
}

// 1 + 2^-11 + 2^-30 lies just above the middle of two halves; by way of f32 it would become the middle and round down.
TEST(Literals, AreRoundedOnce) {
  EXPECT_EQ(static_cast<float>(written<Half>(1 + 0x1p-11 + 0x1p-30)), 1.0f + 0x1p-10f);
  EXPECT_EQ(static_cast<float>(written<BFloat16>(1 + 0x1p-8 + 0x1p-40)), 1.0f + 0x1p-7f);
  EXPECT_EQ(written<float>(std::int64_t{0x1000001000000001}), 0x1.000002p60f);  // by way of f64 it would be the middle
  EXPECT_TRUE(std::isinf(static_cast<float>(written<Half>(1e10))));
}

TEST(Literals, HaveTheTypeTheyAreWrittenIn) {
  EXPECT_EQ(Scalar(true).default_dtype(), boolean);
  EXPECT_EQ(Scalar(1).default_dtype(), i64);
  EXPECT_EQ(Scalar(std::uint64_t{1}).default_dtype(), u64);
  EXPECT_EQ(Scalar(1.0f).default_dtype(), f64);
  EXPECT_EQ(to_string(Scalar(false)), "false");
  EXPECT_EQ(to_string(Scalar(-3)), "-3");
  EXPECT_EQ(to_string(Scalar(0.5)), "0.5");
}

}  // namespace
}  // namespace regrow
