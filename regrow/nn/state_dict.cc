// SPDX-License-Identifier: Apache-2.0
#include "regrow/nn/state_dict.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "regrow/base/error.h"
#include "regrow/tensor/format.h"

namespace regrow::nn {
namespace {

constexpr std::size_t most_listed = 10;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_listed); ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most_listed) text += fmt::format(" and {} more", names.size() - most_listed);
  return text;
}

}  // namespace

std::vector<Described> described(const StateDict& state, Site site) {
  std::vector<Described> list;
  for (const auto& [name, value] : state) list.push_back({name, value.dtype(site), value.shape(site)});
  return list;
}

StateDifference compare(std::span<const Described> wanted, std::span<const Described> found) {
  StateDifference difference;
  std::unordered_map<std::string_view, const Described*> by_name;
  for (const Described& entry : wanted) by_name.emplace(entry.name, &entry);
  for (const Described& entry : found) {
    const auto place = by_name.find(entry.name);
    if (place == by_name.end() || !place->second) {
      difference.unexpected.push_back(entry.name);
      continue;
    }
    const Described& want = *std::exchange(place->second, nullptr);
    if (want.dtype != entry.dtype || want.shape != entry.shape)
      difference.mismatched.push_back(
          fmt::format("{} is {}{}, not {}{}", entry.name, name_of(entry.dtype), entry.shape, name_of(want.dtype), want.shape));
  }
  for (const Described& entry : wanted)
    if (by_name.at(entry.name)) difference.missing.push_back(entry.name);
  return difference;
}

void require_same(const StateDifference& difference, std::string_view what, Site site) {
  if (difference.empty()) return;
  std::string text;
  auto add = [&](std::string_view label, const std::vector<std::string>& names) {
    if (!names.empty()) text += fmt::format("{}{}{}", text.empty() ? "" : "; ", label, listed(names));
  };
  add("missing: ", difference.missing);
  add("unexpected: ", difference.unexpected);
  add("", difference.mismatched);
  fail_at(site, "{}: {}", what, text);
}

}  // namespace regrow::nn
