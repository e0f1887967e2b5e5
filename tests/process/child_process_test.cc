// SPDX-License-Identifier: Apache-2.0
// The other tests here see what they are meant to see.
#include "tests/process/child_process.h"

#include <gtest/gtest.h>

#include <csignal>

namespace regrow {
namespace {

Ending shell(const std::string& line, const RunOptions& options = {}) { return run_process({"/bin/sh", "-c", line}, options); }

TEST(ChildProcess, ExitCodeAndOutputsAreToldApart) {
  const Ending ending = shell("echo one; echo two >&2; exit 7");
  EXPECT_EQ(ending.exit_code, 7);
  EXPECT_EQ(ending.out, "one\n");
  EXPECT_EQ(ending.err, "two\n");
  EXPECT_FALSE(ending.hung);
}

TEST(ChildProcess, AHangIsSeenAndEnded) {
  const Ending ending = shell("exec sleep 100", {.limit_seconds = 0.2});
  EXPECT_TRUE(ending.hung);
  EXPECT_EQ(ending.signal, SIGKILL);
  EXPECT_LT(ending.seconds, 10);
}

TEST(ChildProcess, AnAbortIsASignal) {
  const Ending ending = shell("kill -ABRT $$");
  EXPECT_EQ(ending.exit_code, -1);
  EXPECT_EQ(ending.signal, SIGABRT);
}

TEST(ChildProcess, ASignalIsSentOnceItsCueHasAppeared) {
  const Ending ending = shell("echo ready; exec sleep 100", {.signal = SIGINT, .after = "ready"});
  EXPECT_EQ(ending.signal, SIGINT);
  EXPECT_FALSE(ending.hung);
}

TEST(ChildProcess, LongOutputDoesNotBlock) { EXPECT_EQ(shell("head -c 1000000 /dev/zero | tr '\\0' x").out.size(), 1000000u); }

}  // namespace
}  // namespace regrow
