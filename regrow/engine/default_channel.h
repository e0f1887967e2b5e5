// SPDX-License-Identifier: Apache-2.0
// The process's default channel, and the calls that mean it. Any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string_view>

#include "regrow/engine/replay_thread.h"
#include "regrow/runtime/channel.h"

namespace regrow {

// Made at the first use, with options from the environment (Error on a bad one), and never destroyed. When the process ends, what was
// issued is run to its end and the channel is closed; an error that nobody was told is logged. After that, releasing a tensor is
// harmless and every other call throws.
Channel& default_channel();

// As the members of Channel of the same name.
void sync(Site site = Site::here());
MemoryReport memory(Device device = {}, Site site = Site::here());
void reset_peak_memory(Device device = {});
void set_memory_budget(std::size_t bytes, Device device = {}, Site site = Site::here());
void clear_memory_budget(Device device = {});
// What the thread has done that replays steps; it begins with the first budget, if the option enable_replay is 1.
ReplayReport replay_report();
void set_spill_directory(const std::filesystem::path& directory, Site site = Site::here());
void clear_spill_directory(Site site = Site::here());
void seed(std::uint64_t key);
void end_step();
void set_option(std::string_view name, std::size_t value, Site site = Site::here());
void set_option(std::string_view name, std::string_view value, Site site = Site::here());
std::size_t get_option(std::string_view name, Site site = Site::here());

}  // namespace regrow
