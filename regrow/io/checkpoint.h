// SPDX-License-Identifier: Apache-2.0
// Everything that a training needs to go on with the bits of never having stopped, in one safetensors file. One thread at a time.
//
// The arrays of the module have the names of its state dictionary, "0.weight"; those of the optimizer begin with "optimizer.".
// The random state of the default channel is among the metadata, beside whatever the program adds: steps, epochs, settings.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "regrow/io/safetensors.h"
#include "regrow/nn/module.h"
#include "regrow/optim/optimizer.h"

namespace regrow::io {

struct CheckpointParts {
  const nn::Module* module = nullptr;
  optim::Optimizer* optimizer = nullptr;
  bool random_state = true;
  Metadata metadata = {};  // saved as it is; names that begin with "regrow." are taken. When loading: not looked at
};

// Writes atomically. Waits for all values.
void save_checkpoint(const std::filesystem::path& path, const CheckpointParts& parts, Site site = Site::here());
// Gives the parts that are asked for the values of the file, and returns its metadata. All or nothing: names, shapes and types
// are compared and every value is in memory before the first one is bound. What the file holds beyond that is left alone, but for
// names that neither the module nor an optimizer has. Throws Error, and nothing has changed.
Metadata load_checkpoint(const std::filesystem::path& path, const CheckpointParts& parts, Site site = Site::here());

// Throws Error if the name is missing or its text is not a decimal integer.
std::int64_t integer_of(const Metadata& metadata, const std::string& name, Site site = Site::here());

}  // namespace regrow::io
