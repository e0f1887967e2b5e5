// SPDX-License-Identifier: Apache-2.0
// Values on the host.
#include "regrow/tensor/host_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace regrow {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(HostArray, CopiesWhatItIsMadeOf) {
  std::vector<float> values = {1, 2, 3};
  const HostArray array = HostArray::from(values, {3});
  const HostArray shared = array;
  values = {7, 7, 7};
  EXPECT_THAT(array.to_vector<float>(), ElementsAre(1, 2, 3));
  EXPECT_EQ(shared.data(), array.data());
  EXPECT_EQ(array.bytes(), 12u);
}

TEST(HostArray, RefusesACountThatDoesNotFit) {
  EXPECT_THAT(error_of([] { HostArray::from(std::vector<float>{1, 2}, {3}); }), HasSubstr("2 values do not fill the shape (3,)"));
  EXPECT_THAT(error_of([] { HostArray::from(std::vector<float>{1, 2}, {-1, -2}); }), HasSubstr("may not be negative: (-1, -2)"));
}

TEST(HostArray, GivesItsElementsInTheirOwnTypeOnly) {
  const HostArray array = HostArray::from(std::vector<std::int32_t>{4}, {1});
  EXPECT_EQ(array.item<std::int32_t>(), 4);
  EXPECT_THAT(error_of([&] { array.item<float>(); }), HasSubstr("the elements are i32, not f32"));
  EXPECT_THAT(error_of([&] { array.to_vector<std::uint32_t>(); }), HasSubstr("the elements are i32, not u32"));
  EXPECT_THAT(error_of([] {
                HostArray::from(std::vector<float>{1, 2}, {2}).item<float>();
              }),
              HasSubstr("item() needs exactly one element, but the shape is (2,)"));
  EXPECT_THAT(error_of([] { HostArray::from(std::vector<float>{1, 2}, {2}).item<float>(); }), HasSubstr("host_array_test.cc:"));
}

TEST(HostArray, HoldsBoolAndNothing) {
  const HostArray flags = HostArray::from(std::vector<bool>{true, false, true}, {3});
  EXPECT_EQ(flags.dtype(), DType::boolean);
  EXPECT_THAT(flags.to_vector<bool>(), ElementsAre(true, false, true));
  EXPECT_EQ(HostArray().count(), 0);
  EXPECT_TRUE(HostArray().to_vector<float>().empty());
  EXPECT_TRUE(HostArray::from(std::vector<double>{}, {0, 5}).to_vector<double>().empty());
  EXPECT_EQ(HostArray::scalar(2.5, DType::bf16).item<BFloat16>(), BFloat16(2.5f));
}

// Every other element, the transposed, the repeated: the bytes of the view's elements, never those of its neighbours.
TEST(HostArray, GathersAViewWhateverItsStrides) {
  std::vector<std::int32_t> memory = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto gathered = [&](Shape shape, Strides strides, std::size_t first) {
    const Desc desc{DType::i32, {}, true, shape, strides};
    return HostArray::gather({&desc, reinterpret_cast<std::byte*>(memory.data() + first)}).to_vector<std::int32_t>();
  };
  EXPECT_THAT(gathered({5}, {2}, 0), ElementsAre(0, 2, 4, 6, 8));
  EXPECT_THAT(gathered({2, 3}, {1, 2}, 0), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(gathered({2, 2}, {0, 1}, 8), ElementsAre(8, 9, 8, 9));
  EXPECT_THAT(gathered({3}, {-4}, 9), ElementsAre(9, 5, 1));
  EXPECT_THAT(gathered({}, {}, 3), ElementsAre(3));
  EXPECT_TRUE(gathered({0, 4}, {1, 1}, 0).empty());
}

}  // namespace
}  // namespace regrow
