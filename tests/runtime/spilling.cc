// SPDX-License-Identifier: Apache-2.0
// A channel with a spill directory: what leaves the arena goes to disk and comes back, and what a disk may do wrong harms nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "regrow/base/units.h"
#include "tests/runtime/gate.h"
#include "tests/temporary_folder.h"

namespace regrow {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Spilling : public testing::Test {
 protected:
  // A disk that does wrong while it is told to.
  FileCalls disk() {
    FileCalls calls;
    calls.pwrite = [this](int file, const void* data, std::size_t bytes, off_t at) -> ssize_t {
      return full_ ? (errno = ENOSPC, -1) : ::pwrite(file, data, bytes, at);
    };
    calls.pread = [this](int file, void* data, std::size_t bytes, off_t at) -> ssize_t {
      if (broken_) return errno = EIO, -1;
      const ssize_t got = ::pread(file, data, short_ ? 0 : bytes, at);
      if (flips_ && got > 0) static_cast<unsigned char*>(data)[5] ^= 1;
      return got;
    };
    return calls;
  }

  const TemporaryFolder folder_;
  const std::filesystem::path& directory_ = folder_.path();
  std::atomic<bool> full_{false}, broken_{false}, short_{false}, flips_{false};
};

constexpr std::int64_t large = 1 << 18;  // floats: a megabyte
Options by_hand() { return {.enable_drop = 1, .enable_swap = 1}; }
std::vector<float> value_of(Channel& channel, Handle handle) { return channel.get_value(handle).to_vector<float>(); }

TEST_F(Spilling, WhatIsSwappedOutGoesToTheDirectoryAndComesBackBitForBit) {
  Channel channel(by_hand());
  channel.set_spill_directory(directory_);
  for (std::int64_t count : {std::int64_t{7}, std::int64_t{5000}, large + 3}) {
    const Handle x = put_large(channel, 0.1f, count);
    const Handle y = apply_one(channel, op("tanh"), {x});
    const std::vector<float> before = value_of(channel, y), source = value_of(channel, x);
    const std::uint64_t spilled = channel.memory().spilled_bytes;
    channel.swap_out(x);
    channel.swap_out(y);
    const MemoryReport report = channel.memory();
    EXPECT_EQ(report.spilled_bytes - spilled, 8 * static_cast<std::size_t>(count));
    EXPECT_GE(report.swapped_bytes, 8 * static_cast<std::size_t>(count));
    EXPECT_EQ(value_of(channel, y), before);
    EXPECT_EQ(value_of(channel, x), source);
    channel.del(x);
    channel.del(y);
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_)) << "the file has no name";
  EXPECT_EQ(channel.memory().swapped_bytes, 0u);
}

TEST_F(Spilling, CopiesMoveWithTheDirectory) {
  Channel channel(by_hand());
  const Handle x = put_large(channel, 3, large), y = put_large(channel, 8, 100);
  channel.swap_out(x);
  channel.swap_out(y);
  EXPECT_EQ(channel.memory().spilled_bytes, 0u);
  channel.set_spill_directory(directory_ / "one");
  EXPECT_EQ(channel.memory().spilled_bytes, 0u) << "they were not spilled for want of room";
  channel.set_spill_directory(directory_ / "two");
  std::filesystem::remove_all(directory_ / "one");
  const Handle z = put_large(channel, 5, large);
  channel.swap_out(z);
  channel.clear_spill_directory();
  EXPECT_EQ(channel.memory().spilled_bytes, 4u << 18);
  EXPECT_EQ(channel.memory().staging_bytes, 0u);
  EXPECT_EQ(channel.memory().swapped_bytes, (8u << 18) + 400) << "on the host";
  EXPECT_EQ(value_of(channel, x)[9], 12.f);
  EXPECT_EQ(value_of(channel, y)[9], 17.f);
  EXPECT_EQ(value_of(channel, z)[9], 14.f);
}

TEST_F(Spilling, ADirectoryThatCannotBeUsedIsAnErrorOfTheCallAndTheOldOneStays) {
  Channel channel(by_hand());
  channel.set_spill_directory(directory_);
  std::ofstream(directory_ / "file") << "not a directory";
  const std::string text = message_of([&] { channel.set_spill_directory(directory_ / "file"); });
  EXPECT_THAT(text, AllOf(HasSubstr((directory_ / "file").string()), HasSubstr("spilling.cc")));
  const Handle x = put_large(channel, 3, large);
  channel.swap_out(x);
  EXPECT_EQ(channel.memory().spilled_bytes, 4u << 18);
  full_ = true;
  EXPECT_THAT(message_of([&] { channel.set_spill_directory(directory_, {.calls = disk()}); }), HasSubstr("No space left"));
  EXPECT_EQ(value_of(channel, x)[9], 12.f);
}

TEST_F(Spilling, TheStagingBufferCountsAgainstTheBudget) {
  Channel channel(Options{});
  const Handle x = put_large(channel, 0, large);
  channel.set_memory_budget(MiB(1) + spill_staging_bytes - KiB(64));
  EXPECT_THROW(channel.set_spill_directory(directory_), OutOfBudget);
  EXPECT_EQ(channel.memory().staging_bytes, 0u);
  channel.set_memory_budget(MiB(1) + spill_staging_bytes);
  channel.set_spill_directory(directory_);
  const MemoryReport report = channel.memory();
  EXPECT_EQ(report.staging_bytes, spill_staging_bytes);
  EXPECT_EQ(report.committed_bytes, MiB(1) + spill_staging_bytes);
  EXPECT_EQ(report.live_bytes, MiB(1));
  EXPECT_THROW(channel.set_memory_budget(spill_staging_bytes), OutOfBudget) << "nothing but staging";
  channel.set_memory_budget(MiB(1));
  EXPECT_EQ(channel.memory().live_bytes, 0u) << "the source has gone";
  channel.clear_spill_directory();
  channel.set_memory_budget(MiB(1));
  EXPECT_EQ(value_of(channel, x)[9], 9.f);
}

TEST_F(Spilling, AFullDiskLeavesTheTensorWhereItIs) {
  Channel channel(by_hand());
  channel.set_spill_directory(directory_, {.calls = disk()});
  const Handle x = put_large(channel, 3, large);
  full_ = true;
  channel.swap_out(x);
  EXPECT_EQ(channel.memory().swapped_bytes, 0u);
  EXPECT_EQ(channel.memory().live_bytes, MiB(1));
  EXPECT_EQ(value_of(channel, x)[9], 12.f);
  EXPECT_NO_THROW(channel.sync());
  full_ = false;
  channel.swap_out(x);
  EXPECT_EQ(channel.memory().swapped_bytes, MiB(1));
  EXPECT_EQ(value_of(channel, x)[9], 12.f);
}

TEST_F(Spilling, WhatCannotBeReadBackIsComputedAgainIfItCanBe) {
  for (std::atomic<bool>* fault : {&broken_, &short_, &flips_}) {
    Channel channel(by_hand());
    channel.set_spill_directory(directory_, {.calls = disk()});
    const Handle x = put_large(channel, 3, large);
    const Handle y = apply_one(channel, op("negative"), {x});
    channel.swap_out(y);
    *fault = true;
    EXPECT_EQ(value_of(channel, y)[9], -12.f);
    EXPECT_EQ(channel.memory().recomputed_ops, 1u);
    EXPECT_NO_THROW(channel.sync());
    *fault = false;
  }
}

TEST_F(Spilling, WhatCannotBeReadBackNorComputedIsLostWithWhatNeedsItAndNothingElse) {
  for (std::atomic<bool>* fault : {&broken_, &short_, &flips_}) {
    Channel channel(by_hand());
    channel.set_spill_directory(directory_, {.calls = disk()});
    const Handle x = put_large(channel, 3, large), other = put_large(channel, 4, large);
    const Handle y = apply_one(channel, op("negative"), {x});
    channel.drop(y);
    channel.swap_out(x);
    channel.swap_out(other);
    *fault = true;
    EXPECT_THAT(message_of([&] { channel.get_value(y); }), AllOf(HasSubstr("spill"), HasSubstr(directory_.string())));
    *fault = false;
    EXPECT_THROW(channel.get_value(x), AsyncError);
    EXPECT_THROW(channel.get_value(apply_one(channel, op("negative"), {x})), AsyncError);
    EXPECT_EQ(value_of(channel, other)[9], 13.f);
    EXPECT_NO_THROW(channel.sync());
  }
}

TEST_F(Spilling, WhatCannotBeReadWhenTheDirectoryIsClearedIsMissedWhenItIsAskedFor) {
  Channel channel(by_hand());
  channel.set_spill_directory(directory_, {.calls = disk()});
  const Handle x = put_large(channel, 3, large);
  const Handle y = apply_one(channel, op("negative"), {x});
  channel.swap_out(y);
  broken_ = true;
  channel.clear_spill_directory();
  EXPECT_EQ(value_of(channel, y)[9], -12.f);
  EXPECT_EQ(channel.memory().recomputed_ops, 1u);
}

}  // namespace
}  // namespace regrow
