// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>

#include "regrow/base/error.h"
#include "regrow/remat/policies.h"

namespace regrow {
namespace {

constexpr std::size_t no_limit = static_cast<std::size_t>(-1);
constexpr std::size_t most_bytes = std::size_t{1} << 50;

constexpr OptionSpec specs[] = {
    {"async_level", "REGROW_ASYNC_LEVEL",
     "2: calls never wait; 1: those whose result shape is unknown wait; 0: every call waits.", 0, 2, &Options::async_level},
    {"lookahead", "REGROW_LOOKAHEAD", "How many commands are held back so that neighbours can fuse; 0: none.", 0, 1024,
     &Options::lookahead},
    {"enable_drop", "REGROW_ENABLE_DROP", "Whether Channel::drop acts.", 0, 1, &Options::enable_drop},
    {"enable_swap", "REGROW_ENABLE_SWAP", "Whether Channel::swap_out and swap_in act.", 0, 1, &Options::enable_swap},
    {"enable_host_compute", "REGROW_ENABLE_HOST_COMPUTE",
     "Whether small values known on the host are computed on the caller's thread.", 0, 1, &Options::enable_host_compute},
    {"catch_worker_exception", "REGROW_CATCH_WORKER_EXCEPTION",
     "1: a failed operation poisons its results; 0: the first one closes the channel.", 0, 1, &Options::catch_worker_exception},
    {"record_computing_path", "REGROW_RECORD_COMPUTING_PATH", "Whether recipes are kept, so that values can be computed again.",
     0, 1, &Options::record_computing_path},
    {"enable_auto_evict", "REGROW_ENABLE_AUTO_EVICT",
     "Whether a budget makes room by evictions; 0: what does not fit is refused.", 0, 1, &Options::enable_auto_evict},
    {"eviction_threshold", "REGROW_EVICTION_THRESHOLD",
     "Bytes, below the budget, that evictions keep to where they can; 0: the budget alone counts.", 0, most_bytes,
     &Options::eviction_threshold},
    {"evictee_minimum_size", "REGROW_EVICTEE_MINIMUM_SIZE", "Storages of fewer bytes are never evicted.", 0, most_bytes,
     &Options::evictee_minimum_size},
    {"policy", "REGROW_POLICY", "Who says which storage is evicted first.", 0, std::size(remat::policies) - 1, &Options::policy,
     remat::policies},
    {"verify", "REGROW_VERIFY", "Whether what is computed again is compared, bit for bit, with what it was first.", 0, 1,
     &Options::verify},
    {"enable_replay", "REGROW_ENABLE_REPLAY", "Whether a thread replays steps to tune the policy next-use (default channel).", 0,
     1, &Options::enable_replay},
    {"queue_commands", "REGROW_QUEUE_COMMANDS", "Commands issued and not yet run from which on issuing waits.", 1, 1u << 20,
     &Options::queue_commands},
    {"queue_bytes", "REGROW_QUEUE_BYTES", "Host bytes held by queued puts from which on issuing waits.", 1, no_limit,
     &Options::queue_bytes},
};

const OptionSpec& spec_named(std::string_view name) {
  for (const OptionSpec& spec : specs)
    if (spec.name == name) return spec;
  fail("no option is named '{}'", name);
}

void check_range(const OptionSpec& spec, std::string_view what, std::size_t value) {
  const bool ok = value >= spec.least && value <= spec.most;
  if (ok) return;
  if (spec.most == no_limit) fail("{} is {}, but must be at least {}", what, value, spec.least);
  fail("{} is {}, but must be between {} and {}", what, value, spec.least, spec.most);
}

// A number, or the name of a value. `what` is named in errors.
std::size_t parse(const OptionSpec& spec, std::string_view what, std::string_view text) {
  const auto named = std::find(spec.names.begin(), spec.names.end(), text);
  if (named != spec.names.end()) return static_cast<std::size_t>(named - spec.names.begin());
  std::size_t value = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool number = code == std::errc{} && stop == text.data() + text.size();
  if (!number && !spec.names.empty()) fail("{} is '{}', but must be one of {}", what, text, fmt::join(spec.names, ", "));
  require(number, "{} is '{}', which is not a number", what, text);
  check_range(spec, what, value);
  return value;
}

}  // namespace

std::span<const OptionSpec> option_specs() noexcept { return specs; }

std::size_t Options::get(std::string_view name) const { return this->*spec_named(name).member; }

void Options::set(std::string_view name, std::size_t value) {
  const OptionSpec& spec = spec_named(name);
  check_range(spec, spec.name, value);
  this->*spec.member = value;
}

void Options::set(std::string_view name, std::string_view value) {
  const OptionSpec& spec = spec_named(name);
  this->*spec.member = parse(spec, spec.name, value);
}

void Options::check() const {
  for (const OptionSpec& spec : specs) check_range(spec, spec.name, this->*spec.member);
}

Options Options::from_environment() {
  Options options;
  for (const OptionSpec& spec : specs) {
    const char* text = std::getenv(std::string(spec.variable).c_str());
    if (!text || !*text) continue;
    options.*spec.member = parse(spec, spec.variable, text);
  }
  return options;
}

}  // namespace regrow
