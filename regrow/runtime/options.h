// SPDX-License-Identifier: Apache-2.0
// How a channel behaves: defaults here, overridden by the environment (REGROW_ASYNC_LEVEL and so on), then by set_option. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace regrow {

struct Options {
  std::size_t async_level = 2;            // 2: everything is asynchronous; 1: waits where the shape is unknown; 0: every call waits
  std::size_t lookahead = 32;             // commands held back for fusion (of deletes into readers, of elementwise neighbours)
  std::size_t enable_drop = 0;            // whether Channel::drop acts
  std::size_t enable_swap = 0;            // whether Channel::swap_in and swap_out act
  std::size_t enable_host_compute = 1;    // compute small known values on the caller's thread
  std::size_t catch_worker_exception = 1; // 0: the first worker error closes the channel, every later call throws it
  std::size_t record_computing_path = 1;  // keep recipes, so that values can be recomputed
  std::size_t enable_auto_evict = 1;      // whether a budget makes room by evictions; 0: what does not fit is refused
  std::size_t eviction_threshold = 0;     // bytes, below the budget, that evictions keep to where they can; 0: the budget alone
  std::size_t evictee_minimum_size = 0;   // smaller storages are never evicted
  std::size_t policy = 0;                 // who says which storage goes first: 0: next-use; others: `regrow info`, docs/memory.md
  std::size_t verify = 0;                 // whether what is computed again is compared with what it was first, bit for bit
  std::size_t enable_replay = 1;          // whether steps are replayed in the background to tune next-use (default channel)
  std::size_t queue_commands = 4096;      // back-pressure: commands issued and not yet run
  std::size_t queue_bytes = std::size_t{256} << 20;  // back-pressure: host bytes that queued puts hold

  // These defaults with what the environment says. Throws Error naming the variable on a bad value.
  static Options from_environment();
  // Throws Error on an unknown name or a value out of range.
  std::size_t get(std::string_view name) const;
  void set(std::string_view name, std::size_t value);
  void set(std::string_view name, std::string_view value);  // a number, or the name of a value
  // Throws Error naming the first option that is out of range.
  void check() const;
  friend bool operator==(const Options&, const Options&) = default;
};

// Every option, for docs, `regrow info` and the checks.
struct OptionSpec {
  std::string_view name;
  std::string_view variable;  // of the environment
  std::string_view doc;
  std::size_t least, most;
  std::size_t Options::* member;
  std::span<const std::string_view> names = {};  // of the values 0, 1 and so on, where they have names
};
std::span<const OptionSpec> option_specs() noexcept;

}  // namespace regrow
