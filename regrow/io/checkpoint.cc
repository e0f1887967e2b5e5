// SPDX-License-Identifier: Apache-2.0
#include "regrow/io/checkpoint.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "regrow/base/error.h"
#include "regrow/engine/default_channel.h"
#include "regrow/frontend/create.h"

namespace regrow::io {
namespace {

constexpr std::string_view optimizer_prefix = "optimizer.";
constexpr std::string_view reserved_prefix = "regrow.";
constexpr const char* key_name = "regrow.random_key";
constexpr const char* counter_name = "regrow.random_counter";

bool begins_with_optimizer(std::string_view name) { return name.substr(0, optimizer_prefix.size()) == optimizer_prefix; }

template <class T>
T number_of(const Metadata& metadata, const std::string& name, Site site) {
  const auto found = metadata.find(name);
  if (found == metadata.end()) fail_at(site, "the metadata have no {}", shown(name));
  const std::string& text = found->second;
  T value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size())
    fail_at(site, "the metadata have {} for {}, which is no integer that fits", shown(text), shown(name));
  return value;
}

// The file's arrays of one part, under the names that the part gives them.
std::vector<nn::Described> found_in(const SafetensorsReader& reader, bool of_optimizer) {
  std::vector<nn::Described> found;
  for (const ArrayEntry& entry : reader.entries()) {
    if (begins_with_optimizer(entry.name) == of_optimizer)
      found.push_back({of_optimizer ? entry.name.substr(optimizer_prefix.size()) : entry.name, entry.dtype, entry.shape});
  }
  return found;
}

// Where the values stand that the new ones will replace.
nn::StateDict read_like(const SafetensorsReader& reader, const nn::StateDict& like, std::string_view prefix, Site site) {
  nn::StateDict state;
  for (const auto& [name, value] : like) {
    const ArrayEntry& entry = *reader.find(std::string(prefix) + name);
    state.emplace_back(name, tensor(reader.read(entry), {.device = value.device(site)}, site));
  }
  return state;
}

}  // namespace

std::int64_t integer_of(const Metadata& metadata, const std::string& name, Site site) {
  return number_of<std::int64_t>(metadata, name, site);
}

void save_checkpoint(const std::filesystem::path& path, const CheckpointParts& parts, Site site) {
  NamedTensors tensors;
  if (parts.module) tensors = parts.module->state_dict();
  for (const auto& [name, value] : tensors)
    if (begins_with_optimizer(name)) fail_at(site, "{}: the module's part 'optimizer' has the optimizer's name", path.string());
  if (parts.optimizer)
    for (auto& [name, value] : parts.optimizer->state()) tensors.emplace_back(std::string(optimizer_prefix) + name, value);
  Metadata metadata = parts.metadata;
  for (const auto& [name, text] : metadata)
    if (name.substr(0, reserved_prefix.size()) == reserved_prefix)
      fail_at(site, "{}: the metadata cannot have the name {}", path.string(), shown(name));
  metadata.emplace("format", "pt");  // names and layouts are PyTorch's: its users' tools ask for this
  if (parts.random_state) {
    const RandomState state = default_channel().random_state();
    metadata[key_name] = std::to_string(state.key);
    metadata[counter_name] = std::to_string(state.counter);
  }
  save_safetensors(path, tensors, metadata, site);
}

Metadata load_checkpoint(const std::filesystem::path& path, const CheckpointParts& parts, Site site) {
  const SafetensorsReader reader(path, site);
  std::optional<RandomState> random;
  if (parts.random_state)
    random = RandomState{.key = number_of<std::uint64_t>(reader.metadata(), key_name, site),
                         .counter = number_of<std::uint64_t>(reader.metadata(), counter_name, site)};
  nn::StateDict module, optimizer;
  if (parts.module) {
    module = parts.module->state_dict();
    nn::require_same(nn::compare(nn::described(module, site), found_in(reader, false)), path.string() + ": the module", site);
  }
  if (parts.optimizer) {
    optimizer = parts.optimizer->state();
    nn::require_same(nn::compare(nn::described(optimizer, site), found_in(reader, true)), path.string() + ": the optimizer",
                     site);
  }
  module = read_like(reader, module, "", site);
  optimizer = read_like(reader, optimizer, optimizer_prefix, site);
  // A value that does not fit the memory budget says so here.
  for (const nn::StateDict* state : {&module, &optimizer})
    for (const auto& [name, value] : *state) value.wait(site);
  if (parts.optimizer) parts.optimizer->set_state(optimizer, site);
  if (parts.module) parts.module->load_state_dict(module, {}, site);
  if (random) default_channel().set_random_state(*random);
  Metadata metadata = reader.metadata();
  metadata.erase(key_name);
  metadata.erase(counter_name);
  return metadata;
}

}  // namespace regrow::io
