// SPDX-License-Identifier: Apache-2.0
#include "regrow/engine/default_channel.h"

#include <atomic>
#include <memory>

namespace regrow {

Channel& default_channel() {
  static Channel& channel = *new Channel(Options::from_environment());
  return channel;
}

namespace {

std::atomic<bool> replaying{false};

// From the first budget on, and never destroyed.
ReplayThread& replays() {
  static const std::shared_ptr<ReplayThread>& thread = *new std::shared_ptr<ReplayThread>(ReplayThread::start(default_channel()));
  replaying = true;
  return *thread;
}

}  // namespace

void sync(Site site) { default_channel().sync(site); }
MemoryReport memory(Device device, Site site) { return default_channel().memory(device, site); }
void reset_peak_memory(Device device) { default_channel().reset_peak_memory(device); }

void set_memory_budget(std::size_t bytes, Device device, Site site) {
  default_channel().set_memory_budget(bytes, device, site);
  if (get_option("enable_replay") != 0) replays();
}

ReplayReport replay_report() { return replaying.load() ? replays().report() : ReplayReport{}; }
void clear_memory_budget(Device device) { default_channel().clear_memory_budget(device); }
void set_spill_directory(const std::filesystem::path& directory, Site site) {
  default_channel().set_spill_directory(directory, {}, site);
}
void clear_spill_directory(Site site) { default_channel().clear_spill_directory(site); }
void seed(std::uint64_t key) { default_channel().seed(key); }
void end_step() { default_channel().end_step(); }
void set_option(std::string_view name, std::size_t value, Site site) { default_channel().set_option(name, value, site); }
void set_option(std::string_view name, std::string_view value, Site site) { default_channel().set_option(name, value, site); }
std::size_t get_option(std::string_view name, Site site) { return default_channel().get_option(name, site); }

}  // namespace regrow
