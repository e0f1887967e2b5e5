// SPDX-License-Identifier: Apache-2.0
// Nothing hangs or aborts: not at exit, not after fork, not on Ctrl-C, not when a callback or the worker fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "regrow/memory/poison.h"
#include "tests/process/child_process.h"

namespace regrow {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

Ending run(const std::string& scenario, RunOptions options = {}) { return run_process({SCENARIOS, scenario}, options); }

void expect_exit(const std::string& scenario, int code) {
  const Ending ending = run(scenario);
  EXPECT_FALSE(ending.hung) << ending;
  EXPECT_EQ(ending.exit_code, code) << ending;
}

void expect_silent_exit(const std::string& scenario, int times = 1) {
  for (int i = 0; i < times; ++i) {
    const Ending ending = run(scenario);
    ASSERT_FALSE(ending.hung) << ending;
    ASSERT_EQ(ending.exit_code, 0) << ending;
    ASSERT_EQ(ending.err, "") << ending;
  }
}

TEST(Exit, WithoutEverUsingTheEngineIsImmediate) { expect_silent_exit("nothing_at_all"); }
TEST(Exit, WithPendingWork) { expect_silent_exit("pending_work", 3); }
TEST(Exit, WithPendingWorkOfAChannel) { expect_silent_exit("pending_work_of_a_channel", 3); }
TEST(Exit, WithGlobalAndThreadLocalTensors) { expect_silent_exit("global_tensors_outlive_main", 5); }
TEST(Exit, WithAGlobalChannel) { expect_silent_exit("global_channel_outlives_main", 5); }
TEST(Exit, RightAfterAChannelWasCreatedFiftyTimes) { expect_silent_exit("create_a_channel_last", 50); }
TEST(Exit, WhileACallbackRuns) { expect_exit("exit_while_a_callback_runs", 3); }
TEST(Exit, WhileAFirstRunHasMadeStaticObjects) { expect_silent_exit("static_objects_made_while_main_returns", 2); }
TEST(Exit, InsideACallback) { expect_exit("exit_inside_a_callback", 3); }
TEST(Exit, WhileACallbackThrows) { expect_exit("exit_while_a_callback_throws", 3); }
TEST(Exit, AfterABackwardPassThirtyTimes) { expect_silent_exit("backward_and_exit", 30); }
TEST(Exit, WhileThreadsIssue) { expect_silent_exit("threads_issue_while_main_returns", 20); }
TEST(Exit, WhileThreadsWait) { expect_silent_exit("threads_wait_while_main_returns", 20); }
TEST(Exit, FromAnotherThread) { expect_exit("exit_from_another_thread", 6); }

TEST(Exit, InTheHandlerOfACallbackError) {
  const Ending ending = run("exit_in_a_handler_of_a_callback_error");
  EXPECT_EQ(ending.exit_code, 4) << ending;
  EXPECT_THAT(ending.err, HasSubstr("the callback's own words"));
}

TEST(Exit, AnErrorThatNobodyWasToldIsLogged) {
  for (const char* scenario : {"untold_error", "untold_error_of_a_channel"}) {
    const Ending ending = run(scenario);
    EXPECT_EQ(ending.exit_code, 0) << ending;
    EXPECT_THAT(ending.err, HasSubstr("take")) << ending;
    EXPECT_THAT(ending.err, HasSubstr("scenarios.cc")) << ending;
  }
}

TEST(Exit, AnErrorThatNobodyCatchesIsTheLanguagesAffair) {
  const Ending ending = run("uncaught_error");
  EXPECT_FALSE(ending.hung) << ending;
  EXPECT_EQ(ending.signal, SIGABRT) << ending;
  EXPECT_THAT(ending.err, HasSubstr("matmul"));
}

TEST(Callbacks, ThatThrowDoNotHarmTheEngine) { expect_silent_exit("throwing_callbacks"); }

TEST(Callbacks, MayNotUseTheEngine) {
  const Ending ending = run("callback_uses_the_engine");
  EXPECT_FALSE(ending.hung) << ending;
  EXPECT_EQ(ending.exit_code, 0) << ending;
  EXPECT_THAT(ending.err, HasSubstr("callback"));
}

TEST(Worker, ThatFailsTellsAllWhoWaitAndHarmsNoOtherChannel) {
  const Ending ending = run("worker_fails");
  EXPECT_FALSE(ending.hung) << ending;
  EXPECT_EQ(ending.exit_code, 0) << ending;
  EXPECT_THAT(ending.err, HasSubstr("std::bad_alloc")) << ending;
}

TEST(Memory, ThatTheSystemRefusesFailsOneOperationAlone) {
  if (memory::shadowed) GTEST_SKIP() << "a sanitizer maps more than any limit would let it";
  const Ending pages = run("system_refuses_pages");
  EXPECT_FALSE(pages.hung) << pages;
  EXPECT_EQ(pages.exit_code, 0) << pages;
  for (const char* text : {"full: the system has no memory for ", "add", "f32(4194304,)", "hand_out", "scarcity.cc"})
    EXPECT_THAT(pages.err, HasSubstr(text)) << pages;
  const Ending addresses = run("system_refuses_addresses");
  EXPECT_FALSE(addresses.hung) << addresses;
  EXPECT_EQ(addresses.exit_code, 0) << addresses;
  EXPECT_THAT(addresses.err, HasSubstr("reserving address space for an arena")) << addresses;
}

TEST(Worker, ThatFailsClosesTheChannelWhenAskedTo) { expect_exit("worker_error_closes_the_channel", 0); }
TEST(Worker, ClosingReleasesThoseWhoWait) { expect_exit("close_while_others_wait", 0); }

TEST(Fork, TheChildGetsAClearError) {
  for (const char* scenario : {"fork_when_idle", "fork_when_busy"}) {
    const Ending ending = run(scenario);
    EXPECT_FALSE(ending.hung) << ending;
    EXPECT_EQ(ending.exit_code, 5) << ending;
    EXPECT_THAT(ending.err, HasSubstr("fork")) << ending;
  }
}

TEST(Fork, BeforeTheFirstUseIsHarmless) { expect_silent_exit("fork_before_first_use"); }

TEST(CtrlC, EndsAWaitAtOnce) {
  for (const char* scenario : {"wait_for_ever", "wait_for_long_work"}) {
    const Ending ending = run(scenario, {.signal = SIGINT, .after = "waiting"});
    EXPECT_FALSE(ending.hung) << ending;
    EXPECT_EQ(ending.signal, SIGINT) << ending;  // which a shell reports as 130
    EXPECT_LT(ending.seconds, 10) << ending;
  }
}

}  // namespace
}  // namespace regrow
