// SPDX-License-Identifier: Apache-2.0
#include "regrow/base/bounded_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace regrow {
namespace {

using namespace std::chrono_literals;

struct Item {
  int producer = 0, number = 0;
};

// What has not happened after this time will not happen.
constexpr auto a_while = 50ms;

template <class Condition>
bool soon(Condition condition) {
  for (int i = 0; i < 10'000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

TEST(BoundedQueue, ItemsOfOneProducerComeInOrder) {
  BoundedQueue<int> queue(1000, 1000);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(queue.push(int{i}));
  std::array<int, 3> more = {10, 11, 12};
  EXPECT_TRUE(queue.push(std::span<int>(more)));
  EXPECT_TRUE(queue.push_unbounded(13));
  std::vector<int> batch;
  EXPECT_TRUE(queue.drain(batch));
  EXPECT_EQ(batch, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}));
  EXPECT_EQ(queue.size(), 14u);  // taken, not done with
  queue.release(14);
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_FALSE(queue.try_drain(batch));
  EXPECT_TRUE(batch.empty());
}

TEST(BoundedQueue, EachProducersOrderSurvivesContention) {
  constexpr int producers = 4, each = 50'000;
  BoundedQueue<Item> queue(64, 1 << 20, 5us);  // small and quick to sleep: every path is taken
  std::vector<std::thread> threads;
  for (int p = 0; p < producers; ++p) {
    threads.emplace_back([&queue, p] {
      for (int i = 0; i < each; ++i) {
        if (i % 7 == 3) {
          EXPECT_TRUE(queue.push_unbounded({p, i}, 3));
        } else {
          EXPECT_TRUE(queue.push({p, i}, 3));
        }
      }
    });
  }
  std::vector<int> next(producers, 0);
  std::vector<Item> batch;
  int seen = 0;
  while (seen < producers * each) {
    ASSERT_TRUE(queue.drain(batch));
    for (const Item& item : batch) {
      ASSERT_EQ(item.number, next[static_cast<std::size_t>(item.producer)]++);
      ++seen;
      queue.release(1, 3);
    }
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_EQ(queue.weight(), 0u);
}

TEST(BoundedQueue, PushBlocksWhileThereAreTooManyItemsAndDeletesDoNot) {
  BoundedQueue<int> queue(8, 1000);
  std::atomic<int> pushed{0};
  std::thread producer([&] {
    for (int i = 0; i < 20; ++i) queue.push(int{i}), ++pushed;
  });
  EXPECT_TRUE(soon([&] { return pushed == 8; }));
  std::this_thread::sleep_for(a_while);
  EXPECT_EQ(pushed, 8);
  EXPECT_TRUE(queue.push_unbounded(-1));
  EXPECT_EQ(queue.size(), 9u);
  std::vector<int> batch;
  EXPECT_TRUE(queue.drain(batch));
  EXPECT_EQ(batch.size(), 9u);
  std::this_thread::sleep_for(a_while);
  EXPECT_EQ(pushed, 8);  // taken is not done
  queue.release(9);
  EXPECT_TRUE(soon([&] { return pushed == 16; }));
  std::this_thread::sleep_for(a_while);
  EXPECT_EQ(pushed, 16);
  EXPECT_TRUE(queue.drain(batch));
  queue.release(batch.size());
  producer.join();
  EXPECT_EQ(pushed, 20);
}

TEST(BoundedQueue, PushBlocksWhileThereIsTooMuchWeight) {
  BoundedQueue<int> queue(1000, 100);
  std::atomic<int> pushed{0};
  std::thread producer([&] {
    for (int i = 0; i < 5; ++i) queue.push(int{i}, 40), ++pushed;
  });
  EXPECT_TRUE(soon([&] { return pushed == 2; }));
  std::this_thread::sleep_for(a_while);
  EXPECT_EQ(pushed, 2);
  EXPECT_TRUE(queue.push(7, 0));  // weightless ones pass
  std::vector<int> batch;
  for (int left = 6; left > 0;) {
    ASSERT_TRUE(queue.drain(batch));
    for (int i : batch) queue.release(1, i == 7 ? 0 : 40), --left;
  }
  producer.join();
  EXPECT_EQ(queue.weight(), 0u);
}

TEST(BoundedQueue, AnItemHeavierThanTheCapacityPassesAlone) {
  BoundedQueue<int> queue(10, 100);
  EXPECT_TRUE(queue.push(1, 500));
  std::atomic<bool> second{false};
  std::thread producer([&] { queue.push(2, 500), second = true; });
  std::this_thread::sleep_for(a_while);
  EXPECT_FALSE(second);
  std::vector<int> batch;
  EXPECT_TRUE(queue.drain(batch));
  queue.release(1, 500);
  EXPECT_TRUE(soon([&] { return second.load(); }));
  producer.join();
}

TEST(BoundedQueue, CloseEndsAllWaitsAndLosesNothing) {
  BoundedQueue<std::unique_ptr<int>> queue(2, 1000);
  std::atomic<int> refused{0};
  std::vector<std::thread> producers;
  queue.push(std::make_unique<int>(0));
  queue.push(std::make_unique<int>(1));
  for (int p = 0; p < 3; ++p) {
    producers.emplace_back([&] {
      auto item = std::make_unique<int>(2);
      if (!queue.push(std::move(item))) {
        EXPECT_NE(item, nullptr);  // untouched
        ++refused;
      }
    });
  }
  std::this_thread::sleep_for(a_while);
  queue.close();
  for (std::thread& thread : producers) thread.join();
  EXPECT_EQ(refused, 3);
  EXPECT_FALSE(queue.push_unbounded(std::make_unique<int>(3)));
  std::vector<std::unique_ptr<int>> batch;
  EXPECT_TRUE(queue.drain(batch));
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(*batch[1], 1);
  EXPECT_FALSE(queue.drain(batch));
}

TEST(BoundedQueue, CloseWakesASleepingConsumer) {
  BoundedQueue<int> queue(2, 2, 1us);
  std::thread consumer([&] {
    std::vector<int> batch;
    EXPECT_FALSE(queue.drain(batch));
  });
  std::this_thread::sleep_for(a_while);
  queue.close();
  consumer.join();
}

TEST(BoundedQueue, APokeEndsAWaitWithoutAnItem) {
  BoundedQueue<int> queue(2, 2, 1us);
  std::atomic<int> returned{0};
  std::thread consumer([&] {
    std::vector<int> batch;
    while (queue.drain(batch)) {
      EXPECT_TRUE(batch.empty());
      ++returned;
    }
  });
  std::this_thread::sleep_for(a_while);
  queue.poke();
  EXPECT_TRUE(soon([&] { return returned == 1; }));
  std::this_thread::sleep_for(a_while);
  EXPECT_EQ(returned, 1);
  queue.close();
  consumer.join();
  EXPECT_EQ(returned, 1);
}

TEST(BoundedQueue, WakesTheConsumerHoweverLongItSlept) {
  BoundedQueue<int> queue(4, 4, 1us);
  std::thread consumer([&] {
    std::vector<int> batch;
    for (int seen = 0; seen < 30;) {
      EXPECT_TRUE(queue.drain(batch));
      seen += static_cast<int>(batch.size());
      queue.release(batch.size());
    }
  });
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(queue.push(int{i}));
    std::this_thread::sleep_for(std::chrono::microseconds(i * 40));
  }
  consumer.join();
}

TEST(BoundedQueue, KeepsItsStorage) {
  BoundedQueue<std::string> queue(100, 100);
  std::vector<std::string> batch;
  std::set<const void*> buffers;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 64; ++i) queue.push("x");
    ASSERT_TRUE(queue.drain(batch));
    if (round >= 2) buffers.insert(batch.data());
    queue.release(batch.size());
  }
  EXPECT_EQ(buffers.size(), 2u);
}

TEST(BoundedQueue, DrainDestroysTheBatchBefore) {
  BoundedQueue<std::shared_ptr<int>> queue(10, 10);
  const auto shared = std::make_shared<int>(1);
  queue.push(std::shared_ptr<int>(shared));
  std::vector<std::shared_ptr<int>> batch;
  EXPECT_TRUE(queue.drain(batch));
  EXPECT_EQ(shared.use_count(), 2);
  EXPECT_FALSE(queue.try_drain(batch));
  EXPECT_EQ(shared.use_count(), 1);
}

}  // namespace
}  // namespace regrow
