// SPDX-License-Identifier: Apache-2.0
// What `regrow plan` prints: a table, JSON, a plot, an explanation. Main thread.
#pragma once

#include <string>

#include "regrow/remat/explain.h"
#include "regrow/remat/planner.h"

namespace regrow::cli {

std::string plan_table(const remat::PlanAnswer& answer);
std::string plan_json(const remat::PlanAnswer& answer);
// Overhead against the budget, a line for each policy, the lower bound below: an SVG that stands alone.
std::string plan_svg(const remat::PlanAnswer& answer, const std::string& title);
std::string explanation_text(const remat::Explanation& explanation);

// Throws Error if it cannot be written.
void write_text(const std::string& path, const std::string& text);

}  // namespace regrow::cli
