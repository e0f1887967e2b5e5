// SPDX-License-Identifier: Apache-2.0
// Trains a model and says how it went. Main thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "regrow/cli/budget.h"
#include "regrow/cli/models/model.h"

namespace regrow::cli {

struct TrainOptions {
  const ModelSpec* model = nullptr;
  Setting setting;
  std::int64_t epochs = 1;            // counted from the beginning: what was resumed is part of it
  std::optional<std::int64_t> steps;  // likewise; instead of epochs
  double learning_rate = 1e-3;        // at the first step
  std::filesystem::path checkpoint;   // written after every epoch and at the end; empty: not at all
  std::filesystem::path resume;       // empty: from the beginning
  BudgetWish budget;
  std::filesystem::path trace;        // a step is written to this file; empty: none is
};

struct TrainResult {
  std::string model;
  Extent extent;
  std::int64_t steps = 0;             // from the beginning
  std::int64_t parameters = 0;        // numbers that were learnt
  double seconds = 0;                 // of training
  double seconds_per_step = 0;        // median
  double loss = 0;                    // of the last batch
  double measure = 0;                 // what the model's spec calls it
  std::string params_hash;            // XXH64 of all parameters' bytes, by name, in hexadecimal
  std::size_t state_bytes = 0;        // parameters and optimizer state
  std::size_t working_set_bytes = 0;  // the largest of one operation: its inputs, outputs and workspace
  std::size_t peak_bytes = 0;         // while training
  std::uint64_t operators = 0;        // issued while training
  BudgetResult budget;
  double activation_reorders = 0;     // of a step: copies of images into another layout, and of weights (kernels/reorder_count.h)
  double weight_reorders = 0;

  // What no budget can do without, as a part of the peak.
  double floor_share() const {
    return peak_bytes == 0 ? 0 : static_cast<double>(state_bytes + working_set_bytes) / static_cast<double>(peak_bytes);
  }
};

// The rate of a step, as a part of the first one's: 1 / sqrt(1 + step / 1000), in levels of 50 steps. It does not depend on how
// many steps there will be, so that a run can be stopped and continued.
double learning_rate_factor(std::int64_t step);

// The peak of the first steps without a budget. Shows nothing, keeps nothing.
std::size_t unlimited_peak(const TrainOptions& options);

// Shows its progress on stdout. `unlimited_peak_bytes`: what a budget of N% is a part of. Throws Error on bad data and bad checkpoints,
// UsageError where the checkpoint has gone further than was asked for, and whatever the engine throws.
TrainResult train(const TrainOptions& options, std::size_t unlimited_peak_bytes = 0);

}  // namespace regrow::cli
