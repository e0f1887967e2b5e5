// SPDX-License-Identifier: Apache-2.0
// Short lists of sizes, axes as users name them, devices.
#include "regrow/tensor/dims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "regrow/base/error.h"
#include "regrow/tensor/device.h"

namespace regrow {
namespace {

using ::testing::HasSubstr;

template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

TEST(Dims, InsertEraseAndCompare) {
  Dims dims = {2, 3};
  dims.insert(0, 7);
  EXPECT_EQ(dims, (Dims{7, 2, 3}));
  dims.insert(3, 9);
  EXPECT_EQ(dims, (Dims{7, 2, 3, 9}));
  dims.insert(1, 8);
  EXPECT_EQ(dims, (Dims{7, 8, 2, 3, 9}));
  dims.erase(1);
  dims.erase(3);
  EXPECT_EQ(dims, (Dims{7, 2, 3}));
  EXPECT_EQ(dims.back(), 3);
  EXPECT_NE(dims, (Dims{7, 2}));
  EXPECT_EQ(Dims::filled(3, 5), (Dims{5, 5, 5}));
  EXPECT_NE(hash_of(Dims{1, 2}), hash_of(Dims{2, 1}));
  EXPECT_NE(hash_of(Dims{}), hash_of(Dims{0}));
}

TEST(Dims, HoldEightAndRefuseNine) {
  EXPECT_EQ((Dims{1, 2, 3, 4, 5, 6, 7, 8}).size(), 8u);
  EXPECT_THAT(error_of([] { Dims::filled(9, 1); }), HasSubstr("a tensor has at most 8 axes"));
}

TEST(Dims, PrintAsPythonTuples) {
  EXPECT_EQ(to_string(Dims{}), "()");
  EXPECT_EQ(to_string(Dims{3}), "(3,)");
  EXPECT_EQ(to_string(Dims{2, -1}), "(2, -1)");
  EXPECT_EQ(to_string(Axes{}), "all");
  EXPECT_EQ(to_string(Axes(1)), "(1,)");
}

TEST(Dims, CountElements) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({2, 3}), 6);
  EXPECT_EQ(element_count({2, 0, 3}), 0);
  EXPECT_EQ(element_count({1 << 20, 1 << 20}), std::int64_t{1} << 40);
}

TEST(Axes, ResolveToSortedDistinctOnes) {
  EXPECT_EQ(Axes{}.resolve(3), (Dims{0, 1, 2}));
  EXPECT_EQ(Axes{}.resolve(0), Dims{});
  EXPECT_EQ(Axes::none().resolve(3), Dims{});
  EXPECT_EQ((Axes{-1, 0}).resolve(3), (Dims{0, 2}));
  EXPECT_EQ(Axes(Dims{2, 1}).resolve(3), (Dims{1, 2}));
  EXPECT_FALSE(Axes::none().all());
  EXPECT_NE(Axes::none(), Axes{});
}

TEST(Axes, OutOfRangeOrNamedTwiceAreErrors) {
  EXPECT_EQ(error_of([] { Axes(3).resolve(3); }), "axis 3 is out of range for 3 axes");
  EXPECT_EQ(error_of([] { Axes(-4).resolve(3); }), "axis -4 is out of range for 3 axes");
  EXPECT_EQ(error_of([] { Axes(0).resolve(0); }), "axis 0 is out of range for 0 axes");
  EXPECT_EQ(error_of([] { (Axes{1, -2}).resolve(3); }), "axis -2 is named twice");
}

TEST(Devices, AreNamedAndBounded) {
  EXPECT_EQ(Device("cpu"), Device(0));
  EXPECT_EQ(Device("cpu:7"), Device(7));
  EXPECT_EQ(to_string(Device(3)), "cpu:3");
  for (const char* name : {"", "gpu", "cpu:", "cpu:8", "cpu:-1", "cpu:10", "CPU"})
    EXPECT_THAT(error_of([&] { Device device(name); }), HasSubstr("no device is named '")) << name;
}

}  // namespace
}  // namespace regrow
