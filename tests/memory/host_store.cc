// SPDX-License-Identifier: Apache-2.0
#include "regrow/memory/host_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "regrow/base/error.h"

namespace regrow::memory {
namespace {

std::vector<std::byte> pattern(std::size_t bytes, unsigned seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 31 + seed);
  return data;
}

class HostStoreSizes : public ::testing::TestWithParam<std::size_t> {};

TEST_P(HostStoreSizes, WhatWasWrittenIsReadBackAsOftenAsWanted) {
  HostStore store;
  std::vector<std::byte> data = pattern(GetParam(), 1);
  const std::vector<std::byte> before = data;
  store.write(7, data);
  std::ranges::fill(data, std::byte{0});  // the copy is its own
  EXPECT_TRUE(store.has(7));
  EXPECT_EQ(store.bytes(), GetParam());
  for (int round = 0; round < 2; ++round) {
    std::vector<std::byte> back(GetParam());
    store.read(7, back);
    EXPECT_EQ(back, before);
  }
  store.forget(7);
  EXPECT_FALSE(store.has(7));
  EXPECT_EQ(store.bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, HostStoreSizes, ::testing::Values(0, 1, 64, 4097, 1 << 20, (3 << 20) + 5));

TEST(HostStore, IdsAreIndependentAndUsedAgain) {
  HostStore store;
  store.write(3, pattern(100, 3));
  store.write(0, pattern(50, 0));
  store.write(1000, pattern(2 << 20, 9));
  EXPECT_EQ(store.bytes(), 150u + (2u << 20));
  store.forget(3);
  store.forget(3);
  store.forget(12345);
  store.write(3, pattern(10, 4));
  std::vector<std::byte> back(10), other(50);
  store.read(3, back);
  store.read(0, other);
  EXPECT_EQ(back, pattern(10, 4));
  EXPECT_EQ(other, pattern(50, 0));
  EXPECT_EQ(store.bytes(), 60u + (2u << 20));
}

TEST(HostStore, RefusesWhatMakesNoSense) {
  HostStore store;
  std::vector<std::byte> data(10);
  EXPECT_THROW(store.read(0, data), Error);
  store.write(0, data);
  EXPECT_THROW(store.write(0, data), Error);
  std::vector<std::byte> longer(11);
  EXPECT_THROW(store.read(0, longer), Error);
  EXPECT_EQ(store.bytes(), 10u);
}

}  // namespace
}  // namespace regrow::memory
