// SPDX-License-Identifier: Apache-2.0
// What happens to a process with a channel in it: forks, exits, signals. Each runs in a child whose time is bounded.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "tests/no_leak_check.h"
#include "tests/runtime/gate.h"

namespace regrow {
namespace {

using namespace std::chrono_literals;

// The thread sanitizer of gcc 12 loses count of threads that the child of a fork starts; under it tests/process, which starts
// programs of their own, covers the same ends.
class Process : public testing::Test {
  void SetUp() override {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "threads of a forked child";
#endif
  }
};

// The exit status of a child that runs `body`, as waitpid gives it; -1 if it had to be killed after ten seconds.
template <class F>
int status_of(F&& body, int signal_after_start = 0) {
  const pid_t child = fork();
  if (child == 0) ends_in_the_midst = true, body();
  if (signal_after_start != 0) std::this_thread::sleep_for(300ms), kill(child, signal_after_start);
  for (int i = 0; i < 2000; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) return status;
    std::this_thread::sleep_for(5ms);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

bool exits_with_0(int status) { return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0; }

void issue_much(Channel& channel) {
  Handle x = channel.put(HostArray::from(std::vector<float>(10'000, 0.001f), {100, 100}));
  for (int i = 0; i < 1000; ++i) x = apply_one(channel, op(i % 2 ? "tanh" : "sin"), {x});
}

TEST_F(Process, AChannelOfTheParentThrowsInTheChildOfAForkAndDoesNotHang) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0);
  DeviceTensor lent = channel.get_dev_tensor(x);
  issue_much(channel);
  const int status = status_of([&] {
    int thrown = 0;
    const std::string text = message_of([&] { channel.get_value(x); });
    thrown += text.find("fork") != std::string::npos;
    thrown += !message_of([&] { channel.apply_op(op("exp"), {x}); }).empty();
    thrown += !message_of([&] { channel.sync(); }).empty();
    thrown += !message_of([&] { channel.memory(); }).empty();
    thrown += !message_of([&] { put_large(channel, 0); }).empty();
    channel.del(x);
    channel.close();
    lent = DeviceTensor();
    Channel fresh(Options{});  // one of the child's own works
    const bool right = fresh.get_value(apply_one(fresh, op("negative"), {put_large(fresh, 1)})).to_vector<float>()[0] == -1.f;
    channel.~Channel();
    std::_Exit(thrown == 5 && right ? 0 : 1);
  });
  EXPECT_TRUE(exits_with_0(status)) << status;
  EXPECT_EQ(channel.get_value(x).to_vector<float>()[1], 1.f);
}

TEST_F(Process, ExitWithPendingWorkEndsIt) {
  for (int round = 0; round < 10; ++round) {
    const int status = status_of([] {
      auto& channel = *new Channel(Options{});  // as the default channel: nobody destroys it
      issue_much(channel);
      std::exit(0);
    });
    EXPECT_TRUE(exits_with_0(status)) << status;
  }
}

TEST_F(Process, AChannelMadeByTheLastStatementDoesNoHarm) {
  for (int round = 0; round < 20; ++round) {
    const int status = status_of([] {
      new Channel(Options{});
      std::exit(0);
    });
    EXPECT_TRUE(exits_with_0(status)) << status;
  }
}

TEST_F(Process, WorkIssuedBeforeExitIsRun) {
  static int calls = 0;
  const int status = status_of([] {
    auto& channel = *new Channel(Options{});
    std::atexit([] { std::_Exit(calls == 3 ? 0 : 1); });  // younger handlers run first: registered before the channel's
    channel.sync();
    auto& late = *new Channel(Options{});
    for (int i = 0; i < 3; ++i)
      late.apply_op(callback_op("count", [](std::span<const HostArray>) {
                      ++calls;
                      return std::vector<HostArray>();
                    }, {.outputs = std::vector<CallbackOutput>{}}),
                    {});
    std::exit(2);
  });
  EXPECT_TRUE(exits_with_0(status)) << status;
}

TEST_F(Process, ExitWhileOtherThreadsUseTheChannelEndsIt) {
  for (int round = 0; round < 5; ++round) {
    const int status = status_of([] {
      auto& channel = *new Channel(Options{});
      const Handle x = put_large(channel, 0);
      for (int i = 0; i < 3; ++i)
        std::thread([&channel, x] {
          for (;;) channel.get_value(apply_one(channel, op("exp"), {x}));
        }).detach();
      std::this_thread::sleep_for(20ms);
      std::exit(0);
    });
    EXPECT_TRUE(exits_with_0(status)) << status;
  }
}

TEST_F(Process, ExitFromInsideACallbackEndsIt) {
  const int status = status_of([] {
    auto& channel = *new Channel(Options{});
    const Op leave = callback_op("leave", [](std::span<const HostArray>) -> std::vector<HostArray> { std::exit(0); });
    channel.wait(apply_one(channel, leave, {put_large(channel, 0)}));
    std::_Exit(1);
  });
  EXPECT_TRUE(exits_with_0(status)) << status;
}

TEST_F(Process, AnInterruptEndsAWaitAndTheProcess) {
  const int status = status_of(
      [] {
        signal(SIGINT, SIG_DFL);
        Channel channel(Options{});
        const Op slow = callback_op("slow", [](std::span<const HostArray> in) {
          std::this_thread::sleep_for(60s);
          return std::vector<HostArray>(in.begin(), in.end());
        });
        channel.wait(apply_one(channel, slow, {put_large(channel, 0)}));
        std::_Exit(1);
      },
      SIGINT);
  EXPECT_TRUE(status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
}

}  // namespace
}  // namespace regrow
