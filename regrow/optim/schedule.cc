// SPDX-License-Identifier: Apache-2.0
#include "regrow/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "regrow/base/error.h"

namespace regrow::optim {
namespace {

void require_steps(std::int64_t steps, Site site) {
  if (steps < 1) fail_at(site, "a schedule takes at least one step, not {}", steps);
}

// From `begin` (part 0) to `end` (part 1).
double half_cosine(double begin, double end, double part) {
  return end + (begin - end) * (1 + std::cos(std::numbers::pi * part)) / 2;
}

}  // namespace

Schedule constant(double factor) {
  return [factor](std::int64_t) { return factor; };
}

Schedule linear(std::int64_t steps, double begin, double end, Site site) {
  require_steps(steps, site);
  return [=](std::int64_t step) {
    if (step >= steps) return end;
    return begin + (end - begin) * static_cast<double>(step) / static_cast<double>(steps);
  };
}

Schedule warm_up(std::int64_t steps, Schedule after, Site site) {
  if (steps < 0) fail_at(site, "a warm-up cannot take {} steps", steps);
  return [steps, after = std::move(after)](std::int64_t step) {
    if (step >= steps) return after(step - steps);
    return static_cast<double>(step + 1) / static_cast<double>(steps + 1);
  };
}

Schedule cosine(std::int64_t steps, double floor, Site site) {
  require_steps(steps, site);
  return [=](std::int64_t step) {
    if (step >= steps) return floor;
    return half_cosine(1, floor, static_cast<double>(step) / static_cast<double>(steps));
  };
}

Schedule step_decay(std::int64_t every, double factor, Site site) {
  require_steps(every, site);
  return [=](std::int64_t step) { return std::pow(factor, static_cast<double>(step / every)); };
}

Schedule milestones(std::vector<std::int64_t> steps, double factor, Site site) {
  if (!std::is_sorted(steps.begin(), steps.end())) fail_at(site, "milestones come in ascending order");
  return [steps = std::move(steps), factor](std::int64_t step) {
    const auto passed = std::upper_bound(steps.begin(), steps.end(), step) - steps.begin();
    return std::pow(factor, static_cast<double>(passed));
  };
}

Schedule one_cycle(std::int64_t steps, const OneCycleOptions& options, Site site) {
  require_steps(steps, site);
  if (!(options.rise > 0 && options.rise < 1)) fail_at(site, "one_cycle: the rise is a part in (0, 1), not {}", options.rise);
  const double top = options.rise * static_cast<double>(steps) - 1, bottom = static_cast<double>(steps) - 1;
  return [=](std::int64_t step) {
    const auto at = static_cast<double>(step);
    if (at >= bottom) return options.last;
    if (at < top) return half_cosine(options.first, 1, at / top);
    return half_cosine(1, options.last, (at - top) / (bottom - top));
  };
}

}  // namespace regrow::optim
