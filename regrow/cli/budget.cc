// SPDX-License-Identifier: Apache-2.0
#include "regrow/cli/budget.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "regrow/base/units.h"
#include "regrow/cli/commands.h"

namespace regrow::cli {

BudgetWish::BudgetWish(const std::string& text) {
  if (text.ends_with('%')) {
    const char* end = text.data() + text.size() - 1;
    const auto [stop, code] = std::from_chars(text.data(), end, percent_);
    if (code == std::errc{} && stop == end && percent_ > 0 && percent_ <= 1e6) return;
  } else {
    try {
      std::string bytes = text;
      CLI::AsSizeValue(false)(bytes);
      bytes_ = std::stoull(bytes);
      if (bytes_ > 0) return;
    } catch (const std::exception&) {
    }
  }
  throw UsageError(fmt::format("--budget: '{}' is neither a size, such as 512MiB, nor a part of the peak, such as 30%", text));
}

std::size_t BudgetWish::bytes(std::size_t unlimited_peak) const noexcept {
  return is_relative() ? static_cast<std::size_t>(percent_ / 100 * static_cast<double>(unlimited_peak)) : bytes_;
}

void BudgetResult::add_to(nlohmann::ordered_json& json) const {
  const auto if_any = [](std::size_t bytes) { return bytes > 0 ? nlohmann::ordered_json(bytes) : nlohmann::ordered_json(); };
  json["budget_bytes"] = if_any(budget_bytes);
  json["unlimited_peak_bytes"] = if_any(unlimited_peak_bytes);
  json["floor_bytes"] = if_any(floor_bytes);
  json["committed_bytes"] = memory.peak_committed_bytes;
  json["tensor_bytes"] = memory.peak_tensor_bytes;
  json["workspace_bytes"] = memory.workspace_bytes;
  json["staging_bytes"] = memory.staging_bytes;
  json["evictions"] = memory.evictions;
  json["recomputed_ops"] = memory.recomputed_ops;
  json["recompute_seconds"] = memory.recompute_seconds;
  json["spilled_bytes"] = memory.spilled_bytes;
  json["stall_seconds"] = memory.stall_seconds;
  json["decision_us_median"] = memory.decision_us_median;
  json["decision_us_p99"] = memory.decision_us_p99;
  json["decision_share"] = seconds > 0 ? memory.decision_seconds / seconds : 0;
  json["largest_hole_bytes"] = memory.largest_hole_bytes;
  json["replay_cpu_share"] = replay.elapsed_seconds > 0 ? replay.cpu_seconds / replay.elapsed_seconds : 0;
  json["replay_installed_step"] = memory.tuned_step > 0 ? nlohmann::ordered_json(memory.tuned_step) : nlohmann::ordered_json();
}

std::string BudgetResult::text() const {
  std::string of_peak;
  if (unlimited_peak_bytes > 0) {
    const double share = static_cast<double>(budget_bytes) / static_cast<double>(unlimited_peak_bytes);
    of_peak = fmt::format(", {:.1f} % of the {} that it takes without one", 100 * share, format_bytes(unlimited_peak_bytes));
  }
  std::string spilled;
  if (memory.staging_bytes > 0) {
    spilled = fmt::format("spilled     {}, waited for {:.1f} % of the time\n", format_bytes(memory.spilled_bytes),
                          seconds > 0 ? 100 * memory.stall_seconds / seconds : 0);
  }
  return fmt::format("budget      {}{}\nregrown     {} operators after {} evictions: {:.1f} % of the time\n{}", format_bytes(budget_bytes),
                     of_peak, memory.recomputed_ops, memory.evictions, 100 * recompute_share(), spilled);
}

}  // namespace regrow::cli
