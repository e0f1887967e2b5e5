// SPDX-License-Identifier: Apache-2.0
// Errors carry the line that caused them; sizes print as people read them; hashes spread.
#include "regrow/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "regrow/base/clock.h"
#include "regrow/base/hash.h"
#include "regrow/base/units.h"

namespace regrow {
namespace {

using ::testing::HasSubstr;

TEST(Error, NamesTheLineThatWroteTheRequirement) {
  const int line = __LINE__ + 2;
  try {
    require(false, "{} is not {}", 1, "two");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "1 is not two");
    EXPECT_EQ(error.site().line, line);
    EXPECT_THAT(error.what(), HasSubstr("error_test.cc:" + std::to_string(line) + "]"));
  }
  require(true, "never thrown");
}

TEST(Error, OfAnotherPlaceNamesThatPlace) {
  try {
    fail_at({"program.cc", 12}, "{}: too large", "x");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "x: too large [program.cc:12]");
  }
  EXPECT_STREQ(Error("no place", Site{}).what(), "no place");
}

TEST(AsyncError, NestsItsCause) {
  try {
    try {
      throw std::out_of_range("the cause");
    } catch (...) {
      throw AsyncError("take failed", Site{"a.cc", 3});
    }
  } catch (const AsyncError& error) {
    EXPECT_STREQ(error.what(), "take failed [a.cc:3]");
    EXPECT_THROW(std::rethrow_if_nested(error), std::out_of_range);
  }
}

TEST(OutOfBudget, SaysWhatIsNeededAndWhatSuffices) {
  const OutOfBudget error("no room", 100, 250, Site{});
  EXPECT_EQ(error.required_bytes(), 100u);
  EXPECT_EQ(error.smallest_budget(), 250u);
  EXPECT_THROW(throw error, AsyncError);
}

TEST(FormatBytes, UsesTheUnitThatFits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(KiB(64)), "64.0 KiB");
  EXPECT_EQ(format_bytes(GiB(3) / 2), "1.5 GiB");
  EXPECT_EQ(format_bytes(GiB(5000)), "4.9 TiB");
}

TEST(Hashes, SpreadOverSmallInputsAndDependOnTheOrder) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t a = 0; a < 200; ++a)
    for (std::uint64_t b = 0; b < 200; ++b) seen.insert(hash_combine(a, b));
  EXPECT_EQ(seen.size(), 40000u);
  EXPECT_EQ(hash_bytes("", 0), 0x2d06800538d394c2u);  // XXH3_64bits of nothing, as published
  EXPECT_NE(hash_bytes("ab", 2), hash_bytes("ba", 2));
  EXPECT_NE(hash_bytes("ab", 2, 1), hash_bytes("ab", 2, 2));
}

TEST(Clock, DoesNotGoBack) {
  std::uint64_t last = now_ns();
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t now = now_ns();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace regrow
