// SPDX-License-Identifier: Apache-2.0
// Trains a model on labelled images and says how it went. Main thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "regrow/cli/models.h"

namespace regrow::cli {

struct TrainOptions {
  const ModelSpec* model = nullptr;
  std::filesystem::path data;  // a folder of IDX files; empty: Fashion-MNIST where it is installed
  std::int64_t epochs = 1;
  std::optional<std::int64_t> steps;  // instead of epochs
  std::int64_t batch = 64;
  double learning_rate = 1e-3;  // at the beginning; falls to nothing along a straight line, in a hundred levels
  std::uint64_t seed = 0;
};

struct TrainResult {
  std::string model;
  std::int64_t steps = 0;
  std::int64_t parameters = 0;  // numbers that were learnt
  double seconds = 0;           // of training
  double seconds_per_step = 0;  // median
  double loss = 0;              // of the last batch
  double accuracy = 0;          // share of the test images, after training
  std::string params_hash;      // XXH64 of all parameters' bytes, by name, in hexadecimal
  std::size_t peak_bytes = 0;   // while training
  std::uint64_t operators = 0;  // issued while training
};

// Shows its progress on stdout. Throws Error on bad data, and whatever the engine throws.
TrainResult train(const TrainOptions& options);

}  // namespace regrow::cli
