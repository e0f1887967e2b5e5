// SPDX-License-Identifier: Apache-2.0
// The default channel: made when first used, with the environment's options; closed when the process ends.
#include "regrow/engine/default_channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/no_leak_check.h"

namespace regrow {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// The exit code of a child that runs `body`; -1 if it ended otherwise, or not within ten seconds.
template <class F>
int exit_code_of(F&& body) {
  const pid_t child = fork();
  if (child == 0) ends_in_the_midst = true, body(), std::_Exit(99);
  for (int i = 0; i < 2000; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    std::this_thread::sleep_for(5ms);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

Handle some_values() { return default_channel().put(HostArray::from(std::vector<float>(1000, 2.f), {1000}), {.no_cache = true}); }

Handle issue_much() {
  Handle x = some_values();
  for (int i = 0; i < 500; ++i) x = default_channel().apply_op(op(i % 2 ? "tanh" : "sin"), {x}).at(0);
  return x;
}

// A static tensor, as a user may have one: older than the channel, so that it lets go after the channel is closed.
struct StaticTensor {
  ~StaticTensor() {
    if (handle) default_channel().del(handle);
  }
  Handle handle;
} older;

TEST(DefaultChannel, PendingWorkAtTheEndOfMainEndsWithExitCode0) {
  for (int round = 0; round < 5; ++round)
    EXPECT_EQ(exit_code_of([] {
                older.handle = issue_much();
                static StaticTensor younger;
                younger.handle = issue_much();
                std::exit(0);
              }),
              0);
}

TEST(DefaultChannel, AnErrorThatNobodyWasToldIsLoggedAndTheExitCodeStays) {
  EXPECT_EQ(exit_code_of([] {
              const Handle index = default_channel().put(HostArray::from(std::vector<std::int64_t>{5000}, {1}));
              default_channel().apply_op(op("take", {{"axis", 0}}), {some_values(), index});
              std::exit(3);
            }),
            3);
}

TEST(DefaultChannel, TakesItsOptionsFromTheEnvironment) {
  EXPECT_EQ(exit_code_of([] {
              setenv("REGROW_ASYNC_LEVEL", "0", 1);
              std::_Exit(get_option("async_level") == 0 ? 0 : 1);
            }),
            0);
  EXPECT_EQ(exit_code_of([] {
              setenv("REGROW_ASYNC_LEVEL", "many", 1);
              try {
                default_channel();
              } catch (const Error& error) {
                std::_Exit(std::string(error.what()).find("REGROW_ASYNC_LEVEL") != std::string::npos ? 0 : 1);
              }
            }),
            0);
}

TEST(DefaultChannel, IsTheOneThatProcessWideCallsMean) {
  EXPECT_EQ(exit_code_of([] {
              seed(9);
              bool ok = default_channel().random_state() == RandomState{9, 0};
              set_memory_budget(64 << 20);
              ok = ok && memory().budget_bytes == 64u << 20 && default_channel().memory().budget_bytes == 64u << 20;
              clear_memory_budget();
              ok = ok && memory().budget_bytes == 0;
              const Handle x = some_values();
              default_channel().wait(x);
              default_channel().del(x);
              ok = ok && memory().peak_bytes >= 4000;
              reset_peak_memory();
              ok = ok && memory().peak_bytes == 0;
              set_option("lookahead", 3);
              ok = ok && get_option("lookahead") == 3;
              sync();
              std::exit(ok ? 0 : 1);
            }),
            0);
}

TEST(DefaultChannel, AfterAForkTheChildIsToldWhatIsWrong) {
  EXPECT_EQ(exit_code_of([] {
              const Handle x = issue_much();
              const int inner = exit_code_of([x] {
                try {
                  default_channel().get_value(x);
                } catch (const Error& error) {
                  if (std::string(error.what()).find("fork") != std::string::npos) std::exit(0);  // handlers run, and do not hang
                }
                std::_Exit(1);
              });
              sync();
              std::exit(inner);
            }),
            0);
}

TEST(DefaultChannel, ThreadsThatUseItWhileTheProcessEndsDoNoHarm) {
  for (int round = 0; round < 3; ++round)
    EXPECT_EQ(exit_code_of([] {
                for (int i = 0; i < 3; ++i)
                  std::thread([] {
                    for (;;) {
                      const Handle x = some_values();
                      default_channel().get_value(x);
                      default_channel().del(x);
                    }
                  }).detach();
                std::this_thread::sleep_for(20ms);
                std::exit(0);
              }),
              0);
}

}  // namespace
}  // namespace regrow
