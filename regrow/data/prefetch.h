// SPDX-License-Identifier: Apache-2.0
// Batches made ahead on a thread of their own, in order: epoch after epoch, without end. One thread takes them; close() may be
// called from any.
//
//   auto batches = data::prefetch(loader, {.at = {epoch, index}});
//   for (…) { auto batch = batches.next(); … }
//   save(batches.position());  // of the batch that next() would give: where to begin another time
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "regrow/base/site.h"

namespace regrow::data {

struct Position {
  std::int64_t epoch = 0;
  std::int64_t index = 0;  // of the batch in the epoch
  friend bool operator==(const Position&, const Position&) = default;
};

struct PrefetchOptions {
  Position at = {};        // where to begin
  std::int64_t depth = 2;  // how many batches wait at most, the one that is being made included
};

// The queue, whatever is in it. What a function throws is thrown by next() in the place of the batch that it did not make, and by
// every next() after that.
class PrefetchQueue {
 public:
  using Make = std::function<std::shared_ptr<void>(Position)>;
  // `make` runs on the queue's thread only. Throws Error unless batches and depth are positive and the position is in an epoch.
  PrefetchQueue(Make make, std::int64_t batches, const PrefetchOptions& options, Site site);
  PrefetchQueue(PrefetchQueue&&) noexcept = default;
  PrefetchQueue& operator=(PrefetchQueue&&) = delete;
  ~PrefetchQueue();  // closes

  std::shared_ptr<void> next(Site site);  // waits. Throws Error once closed, and in a process that was forked
  Position position() const;
  void close() noexcept;  // waits for the batch that is being made; again is harmless

 private:
  struct State;
  std::shared_ptr<State> state_;
};

template <class Batch>
class Prefetch {
 public:
  Prefetch(const std::function<Batch(Position)>& make, std::int64_t batches, const PrefetchOptions& options = {},
           Site site = Site::here())
      : queue_([make](Position at) { return std::make_shared<Batch>(make(at)); }, batches, options, site) {}

  Batch next(Site site = Site::here()) { return std::move(*std::static_pointer_cast<Batch>(queue_.next(site))); }
  Position position() const { return queue_.position(); }
  void close() noexcept { queue_.close(); }

 private:
  PrefetchQueue queue_;
};

// Of a loader with batches() and batch(epoch, index), of which it takes a copy.
template <class Loader>
auto prefetch(const Loader& loader, const PrefetchOptions& options = {}, Site site = Site::here()) {
  using Batch = decltype(std::declval<Loader&>().batch(0, 0));
  auto own = std::make_shared<Loader>(loader);
  const std::function<Batch(Position)> make = [own](Position at) { return own->batch(at.epoch, at.index); };
  return Prefetch<Batch>(make, own->batches(), options, site);
}

}  // namespace regrow::data
