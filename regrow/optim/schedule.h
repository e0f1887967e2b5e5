// SPDX-License-Identifier: Apache-2.0
// Learning-rate schedules: functions from the number of the step, 0, 1, …, to the part of the full learning rate that it is taken
// with. They remember nothing, so that a training that goes on needs its step alone. Any thread.
//
//   const Schedule schedule = warm_up(100, cosine(900));
//   for (std::int64_t step = 0; step < 1000; ++step) {
//     optimizer.scale_learning_rate(schedule(step));
//     …
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "regrow/base/site.h"

namespace regrow::optim {

using Schedule = std::function<double(std::int64_t step)>;

Schedule constant(double factor = 1);
// On a straight line from `begin` to `end` in `steps` steps, then `end`.
Schedule linear(std::int64_t steps, double begin = 1, double end = 0, Site site = Site::here());
// (step + 1) / (steps + 1) for so many steps, so that no step is lost; then `after`, from its step 0.
Schedule warm_up(std::int64_t steps, Schedule after = constant(), Site site = Site::here());
// Half a cosine from 1 to `floor` in `steps` steps, then `floor` (Loshchilov and Hutter 2017, without restarts).
Schedule cosine(std::int64_t steps, double floor = 0, Site site = Site::here());
// Times `factor` after every so many steps.
Schedule step_decay(std::int64_t every, double factor = 0.1, Site site = Site::here());
// Times `factor` at each of these steps.
Schedule milestones(std::vector<std::int64_t> steps, double factor = 0.1, Site site = Site::here());

struct OneCycleOptions {
  double rise = 0.3;            // the part of the steps that goes up
  double first = 1.0 / 25;      // the factor of step 0
  double last = 1.0 / 250'000;  // and of the last step
};
// Up to 1 and down again by half cosines (Smith and Topin 2018, as PyTorch has it).
Schedule one_cycle(std::int64_t steps, const OneCycleOptions& options = {}, Site site = Site::here());

}  // namespace regrow::optim
