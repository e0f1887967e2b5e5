// SPDX-License-Identifier: Apache-2.0
// Batches made ahead: their order, how many, how it ends.
#include "regrow/data/prefetch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "regrow/data/loader.h"

namespace regrow::data {
namespace {

using testing::HasSubstr;

std::int64_t numbered(Position at) { return 100 * at.epoch + at.index; }

TEST(Prefetch, GivesTheBatchesOfEpochAfterEpochInOrder) {
  Prefetch<std::int64_t> batches(numbered, 3);
  std::vector<std::int64_t> found;
  for (int i = 0; i < 8; ++i) found.push_back(batches.next());
  EXPECT_THAT(found, testing::ElementsAre(0, 1, 2, 100, 101, 102, 200, 201));
}

TEST(Prefetch, GoesOnWhereItsPositionSays) {
  Prefetch<std::int64_t> batches(numbered, 3);
  for (int i = 0; i < 5; ++i) batches.next();
  EXPECT_EQ(batches.position(), (Position{1, 2}));  // whatever was made ahead
  Prefetch<std::int64_t> resumed(numbered, 3, {.at = batches.position()});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(resumed.next(), batches.next());
}

TEST(Prefetch, NeverMakesMoreThanItsDepthAhead) {
  for (const std::int64_t depth : {1, 3}) {
    std::atomic<std::int64_t> made = 0;
    std::int64_t taken = 0, most = 0;
    Prefetch<std::int64_t> batches([&](Position) { return ++made; }, 1000, {.depth = depth});
    for (int i = 0; i < 200; ++i) {
      batches.next();
      ++taken;
      if (i % 20 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      most = std::max(most, made.load() - taken);
    }
    EXPECT_LE(most, depth);
  }
}

TEST(Prefetch, AFailureComesInItsPlaceAndStays) {
  Prefetch<std::int64_t> batches(
      [](Position at) {
        if (at.index == 2) throw std::out_of_range("no third one");
        return at.index;
      },
      5, {.depth = 4});
  EXPECT_EQ(batches.next(), 0);
  EXPECT_EQ(batches.next(), 1);
  EXPECT_THROW(batches.next(), std::out_of_range);
  EXPECT_THROW(batches.next(), std::out_of_range);
  EXPECT_EQ(batches.position(), (Position{0, 2}));
}

std::string message_of_next(Prefetch<std::int64_t>& batches) {
  try {
    batches.next();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Prefetch, ClosingEndsItAndWakesWhoWaits) {
  std::atomic<bool> go_on = false;
  Prefetch<std::int64_t> batches(
      [&](Position) {
        while (!go_on) std::this_thread::yield();
        return std::int64_t{0};
      },
      5);
  std::string message;
  std::thread waiting([&] { message = message_of_next(batches); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::thread closing([&] { batches.close(); });
  waiting.join();  // though the batch is not made yet
  go_on = true;
  closing.join();
  EXPECT_THAT(message, HasSubstr("closed"));
  EXPECT_THAT(message_of_next(batches), HasSubstr("prefetch_test.cc"));
  batches.close();
}

// B056: made and dropped again and again, at any moment.
TEST(Prefetch, EndsAtAnyMoment) {
  std::atomic<int> alive = 0;
  struct Counted {
    explicit Counted(std::atomic<int>& c) : count(&c) { ++*count; }
    Counted(const Counted& other) : count(other.count) { ++*count; }
    ~Counted() { --*count; }
    std::atomic<int>* count;
  };
  for (int i = 0; i < 200; ++i) {
    Prefetch<Counted> batches([&](Position) { return Counted(alive); }, 2);
    for (int k = 0; k < i % 4; ++k) batches.next();
  }
  EXPECT_EQ(alive, 0);
}

// B021: the thread stays in the parent; the child is told, and ends.
TEST(Prefetch, InAForkedChildItSaysSo) {
  Prefetch<std::int64_t> batches(numbered, 3);
  batches.next();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool told = false;
    {
      Prefetch<std::int64_t> mine = std::move(batches);
      told = message_of_next(mine).find("forked") != std::string::npos;
    }
    _exit(told ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(batches.next(), 1);
}

TEST(Prefetch, BadPositionsAndDepthsAreRefused) {
  EXPECT_THROW(Prefetch<std::int64_t>(numbered, 0), Error);
  EXPECT_THROW(Prefetch<std::int64_t>(numbered, 3, {.at = {0, 3}}), Error);
  EXPECT_THROW(Prefetch<std::int64_t>(numbered, 3, {.at = {-1, 0}}), Error);
  EXPECT_THROW(Prefetch<std::int64_t>(numbered, 3, {.depth = 0}), Error);
}

TEST(Prefetch, OfALoaderGivesItsBatches) {
  std::vector<std::uint8_t> pixels(50), labels(50, 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i);
  const LabelledImages set{HostArray::from(pixels, {50, 1, 1}), HostArray::from(labels, {50})};
  Loader loader(set, {.batch = 8, .seed = 4});
  auto batches = prefetch(loader, {.at = {1, 3}});
  for (int i = 0; i < 10; ++i) {
    const Position at = batches.position();
    EXPECT_EQ(batches.next().images.to_vector<float>(), loader.batch(at.epoch, at.index).images.to_vector<float>());
  }
}

}  // namespace
}  // namespace regrow::data
