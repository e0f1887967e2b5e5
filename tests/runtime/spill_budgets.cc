// SPDX-License-Identifier: Apache-2.0
// A budget and a spill directory: every budget from the floor on completes, with the same bits, whatever the disk does meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <random>
#include <thread>

#include "regrow/base/units.h"
#include "tests/runtime/gate.h"
#include "tests/temporary_folder.h"

namespace regrow {
namespace {


constexpr std::int64_t large = 1 << 18;  // floats: a megabyte
constexpr int layers = 10;
// Two operands and a result: no operation of the program takes more.
constexpr std::size_t floor_bytes = MiB(3) + spill_staging_bytes;

// Forward and back through layers with a parameter each, all of a megabyte; parameters are replaced in the end, as an optimizer does.
std::vector<float> train(Channel& channel, int steps) {
  std::vector<Handle> parameters;
  for (int i = 0; i < layers; ++i) parameters.push_back(put_large(channel, 0.001f * static_cast<float>(i + 1), large));
  const Handle scale = channel.put(HostArray::scalar(1e-6, DType::f32));
  std::vector<float> result;
  for (int step = 0; step < steps; ++step) {
    std::vector<Handle> values = {put_large(channel, 0.01f * static_cast<float>(step), large)};
    for (int i = 0; i < layers; ++i) {
      const Handle scaled = apply_one(channel, op("multiply"), {values.back(), scale});
      const Handle sum = apply_one(channel, op("add"), {scaled, parameters[static_cast<std::size_t>(i)]});
      values.push_back(apply_one(channel, op("tanh"), {sum}));
      channel.del(scaled), channel.del(sum);
    }
    Handle grad = apply_one(channel, op("negative"), {values.back()});
    for (std::size_t i = layers; i-- > 0;) {
      const Handle product = apply_one(channel, op("multiply"), {grad, values[i + 1]});
      const Handle updated = apply_one(channel, op("subtract"), {parameters[i], product});
      const Handle next = apply_one(channel, op("add"), {product, values[i]});
      for (Handle done : {grad, product, values[i + 1], parameters[i]}) channel.del(done);
      parameters[i] = updated;
      grad = next;
    }
    const std::vector<float> last = channel.get_value(grad).to_vector<float>();
    result.insert(result.end(), last.begin(), last.end());
    channel.del(grad), channel.del(values[0]);
  }
  for (Handle parameter : parameters) {
    const std::vector<float> value = channel.get_value(parameter).to_vector<float>();
    result.insert(result.end(), value.begin(), value.end());
  }
  return result;
}

class SpillBudgets : public testing::Test {
 protected:
  SpillBudgets() {
    Channel channel(Options{});
    expected_ = train(channel, 2);
    peak_ = channel.memory().peak_bytes;
  }

  MemoryReport expect_same_bits(std::size_t budget, const Options& options, const FileCalls& calls = {}) {
    Channel channel(options);
    channel.set_spill_directory(directory_, {.calls = calls});
    channel.set_memory_budget(budget);
    EXPECT_TRUE(train(channel, 2) == expected_) << "in " << budget;
    const MemoryReport report = channel.memory();
    EXPECT_LE(report.peak_committed_bytes, budget);
    EXPECT_LE(report.peak_bytes, budget);
    return report;
  }

  const TemporaryFolder folder_;
  const std::filesystem::path& directory_ = folder_.path();
  std::vector<float> expected_;
  std::size_t peak_ = 0;
};

TEST_F(SpillBudgets, TheFloorAndEveryBudgetAboveItComplete) {
  ASSERT_GT(peak_, 5 * floor_bytes);
  std::mt19937 random(11);
  std::vector<std::size_t> budgets = {floor_bytes};
  for (int i = 0; i < 5; ++i) budgets.push_back(floor_bytes + random() % (peak_ - floor_bytes));
  for (std::size_t budget : budgets) {
    for (std::size_t lookahead : {0, 32}) {
      const MemoryReport report = expect_same_bits(budget, Options{.lookahead = lookahead});
      EXPECT_GT(report.spilled_bytes, 0u) << budget;
    }
  }
}

TEST_F(SpillBudgets, BelowTheFloorItIsOutOfBudgetAndTheChannelGoesOn) {
  Channel channel(Options{});
  channel.set_spill_directory(directory_);
  channel.set_memory_budget(floor_bytes - KiB(64));
  try {
    train(channel, 1);
    ADD_FAILURE() << "it was not refused";
  } catch (const OutOfBudget& error) {
    EXPECT_EQ(error.smallest_budget(), floor_bytes);
  }
  channel.set_memory_budget(floor_bytes);
  EXPECT_NO_THROW(train(channel, 1));
}

TEST_F(SpillBudgets, EveryPolicyAndLevelGiveTheSameBits) {
  for (std::size_t policy = 0; policy < 7; ++policy) expect_same_bits(floor_bytes + MiB(2), Options{.policy = policy});
  for (std::size_t level : {0, 1}) expect_same_bits(floor_bytes + MiB(2), Options{.async_level = level});
}

// One write in three finds the disk full.
TEST_F(SpillBudgets, WritesThatFailCostNothingButTime) {
  FileCalls calls;
  std::atomic<unsigned> count{0};
  calls.pwrite = [&](int file, const void* data, std::size_t bytes, off_t at) -> ssize_t {
    return ++count % 3 == 0 ? (errno = ENOSPC, -1) : ::pwrite(file, data, bytes, at);
  };
  expect_same_bits(floor_bytes + MiB(3), Options{}, calls);
  EXPECT_GT(count, 10u);
}

// When a transfer ends is no one's business.
TEST_F(SpillBudgets, ASlowDiskChangesNoBits) {
  std::atomic<unsigned> count{0};
  const auto pause = [&count] { std::this_thread::sleep_for(std::chrono::microseconds(++count * 7919 % 3000)); };
  FileCalls calls;
  calls.pwrite = [=](int file, const void* data, std::size_t bytes, off_t at) { return pause(), ::pwrite(file, data, bytes, at); };
  calls.pread = [=](int file, void* data, std::size_t bytes, off_t at) { return pause(), ::pread(file, data, bytes, at); };
  for (std::size_t budget : {floor_bytes, floor_bytes + MiB(4), peak_ / 2}) expect_same_bits(budget, Options{}, calls);
}

TEST_F(SpillBudgets, CopiesThatAreLostAreMadeAgainOrSaidToBeLost) {
  std::atomic<unsigned> count{0};
  FileCalls calls;
  calls.pread = [&](int file, void* data, std::size_t bytes, off_t at) -> ssize_t {
    const ssize_t got = ::pread(file, data, bytes, at);
    if (++count % 5 == 0 && got > 0) static_cast<unsigned char*>(data)[got / 2] ^= 4;
    return got;
  };
  Channel channel(Options{});
  channel.set_spill_directory(directory_, {.calls = calls});
  channel.set_memory_budget(floor_bytes);
  try {
    EXPECT_TRUE(train(channel, 2) == expected_) << "a wrong value";
  } catch (const AsyncError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("not what was written"));
  }
}

}  // namespace
}  // namespace regrow
