// SPDX-License-Identifier: Apache-2.0
// What `regrow train` writes into a checkpoint beside the values: which model it is, and how far it has come. Main thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "regrow/cli/models/model.h"

namespace regrow::cli {

struct Training {
  const ModelSpec* model = nullptr;
  Extent extent;
  std::uint64_t seed = 0;
  double learning_rate = 0;
  std::int64_t steps = 0;                                     // done
  std::optional<data::Vocabulary> vocabulary = std::nullopt;  // of a model of text
};

io::Metadata metadata_of(const Training& training);
// Throws Error naming the file if it is none of `regrow train`.
Training read_training(const std::filesystem::path& path);

}  // namespace regrow::cli
