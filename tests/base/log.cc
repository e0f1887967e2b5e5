// SPDX-License-Identifier: Apache-2.0
#include "regrow/base/log.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace regrow {
namespace {

// A fresh process each: the level is read once.
TEST(LogDeath, SaysWarningsByDefaultAndNoMore) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  unsetenv("REGROW_LOG");
  EXPECT_EXIT((log().info("quiet"), log().warn("loud"), std::exit(0)), ::testing::ExitedWithCode(0), "^\\[regrow warning\\] loud\n$");
}

TEST(LogDeath, TheEnvironmentChangesTheLevel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("REGROW_LOG", "info", 1);
  EXPECT_EXIT((log().info("loud"), std::exit(0)), ::testing::ExitedWithCode(0), "loud");
  setenv("REGROW_LOG", "off", 1);
  EXPECT_EXIT((log().critical("quiet"), std::exit(0)), ::testing::ExitedWithCode(0), "^$");
  setenv("REGROW_LOG", "chatty", 1);
  EXPECT_EXIT((log().warn("said"), std::exit(0)), ::testing::ExitedWithCode(0), "REGROW_LOG: no such level: chatty\n.*said");
  unsetenv("REGROW_LOG");
}

TEST(LogDeath, AnExitHandlerMayLog) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT((std::atexit([] { log().error("at exit"); }), log().error("before"), std::exit(0)), ::testing::ExitedWithCode(0),
              "before\n.*at exit");
}

}  // namespace
}  // namespace regrow
