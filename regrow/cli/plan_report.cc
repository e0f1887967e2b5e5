// SPDX-License-Identifier: Apache-2.0
#include "regrow/cli/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "regrow/base/error.h"
#include "regrow/base/units.h"

namespace regrow::cli {
namespace {

using remat::PlanAnswer;
using remat::PlanResult;
using remat::Status;

std::string percent(double fraction) { return std::isfinite(fraction) ? fmt::format("{:.2f} %", 100 * fraction) : "-"; }

}  // namespace

std::string plan_table(const PlanAnswer& answer) {
  const auto peak = static_cast<double>(answer.peak_bytes);
  std::string text =
      fmt::format("peak {} without a budget, floor {} ({:.3f}), operators {:.1f} ms\n\n", format_bytes(answer.peak_bytes),
                  format_bytes(answer.floor_bytes), static_cast<double>(answer.floor_bytes) / peak, 1e3 * answer.own_seconds);
  if (!answer.results.empty()) {
    text += fmt::format("{:<10}{:>7}{:>12}{:>12}{:>11}{:>12}{:>11}{:>11}{:>10}{:>9}\n", "policy", "ratio", "budget", "status",
                        "overhead", "bound", "peak", "evictions", "run again", "search");
  }
  for (const PlanResult& each : answer.results) {
    const bool ok = each.outcome.status == Status::ok;
    text += fmt::format("{:<10}{:>7.3f}{:>12}{:>12}{:>11}{:>12}{:>11}{:>11}{:>10}{:>8.2f}s\n", each.policy, each.ratio,
                        format_bytes(each.budget_bytes), remat::to_string(each.outcome.status),
                        ok ? percent(each.outcome.overhead()) : "-", percent(each.lower_bound),
                        ok ? format_bytes(each.outcome.peak_bytes) : "-", each.outcome.evictions, each.outcome.recomputed,
                        each.search_seconds);
  }
  if (!answer.smallest.empty()) text += "\nsmallest budget that completes within four times the time:\n";
  for (const PlanAnswer::Smallest& each : answer.smallest) {
    text += each.budget_bytes == 0 ? fmt::format("  {:<10}none\n", each.policy)
                                   : fmt::format("  {:<10}{:>12}  {:.3f}\n", each.policy, format_bytes(each.budget_bytes),
                                                 static_cast<double>(each.budget_bytes) / peak);
  }
  return text;
}

std::string plan_json(const PlanAnswer& answer) {
  nlohmann::ordered_json json;
  json["peak_bytes"] = answer.peak_bytes;
  json["floor_bytes"] = answer.floor_bytes;
  json["operator_seconds"] = answer.own_seconds;
  json["results"] = nlohmann::ordered_json::array();
  for (const PlanResult& each : answer.results) {
    nlohmann::ordered_json row;
    row["policy"] = each.policy;
    row["budget_bytes"] = each.budget_bytes;
    row["ratio"] = each.ratio;
    row["status"] = remat::to_string(each.outcome.status);
    if (each.outcome.status == Status::ok)
      row["overhead"] = each.outcome.overhead();
    else
      row["overhead"] = nullptr;
    row["peak_bytes"] = each.outcome.peak_bytes;
    row["evictions"] = each.outcome.evictions;
    row["recomputed_ops"] = each.outcome.recomputed;
    row["search_seconds"] = each.search_seconds;
    if (std::isfinite(each.lower_bound))
      row["lower_bound"] = each.lower_bound;
    else
      row["lower_bound"] = nullptr;
    json["results"].push_back(std::move(row));
  }
  json["smallest_budgets"] = nlohmann::ordered_json::object();
  for (const PlanAnswer::Smallest& each : answer.smallest) {
    if (each.budget_bytes > 0)
      json["smallest_budgets"][each.policy] = each.budget_bytes;
    else
      json["smallest_budgets"][each.policy] = nullptr;
  }
  return json.dump(2) + "\n";
}

std::string explanation_text(const remat::Explanation& e) {
  const auto moment = [](const char* what, const remat::Explanation::Moment& m) {
    return fmt::format(
        "{}: command {}, {}\n  {} pinned (sources, values that must stay), {} operands and workspace, {} that may go\n", what,
        m.command, m.operation, format_bytes(m.pinned_bytes), format_bytes(m.operands_bytes), format_bytes(m.evictable_bytes));
  };
  std::string text = moment("peak", e.peak);
  text += "  made by              tensors       bytes   to make again\n";
  for (std::size_t i = 0; i < e.standing.size() && i < 12; ++i) {
    const auto& each = e.standing[i];
    text +=
        fmt::format("  {:<20}{:>8}{:>12}{:>13.3f} ms\n", each.name, each.tensors, format_bytes(each.bytes), 1e3 * each.seconds);
  }
  text += moment("floor", e.floor);
  if (e.again.empty()) return text;
  text += "\nrun again in this budget, by operator (because it was evicted, or on the way to what was):\n";
  text += "  operator             evictions   runs        time\n";
  for (std::size_t i = 0; i < e.again.size() && i < 20; ++i) {
    const auto& each = e.again[i];
    text += fmt::format("  {:<20}{:>10}{:>7}{:>9.3f} ms\n", each.name, each.evictions, each.runs, 1e3 * each.seconds);
  }
  return text;
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.flush();
  require(file.good(), "plan: cannot write {}", path);
}

}  // namespace regrow::cli
