// SPDX-License-Identifier: Apache-2.0
// Little to learn from, in a folder that goes with the test, for each model of `regrow train`. One thread.
#pragma once

#include <string>

#include "tests/data/idx_file.h"

namespace regrow::data {

// 64 images to learn from, 20 to test with.
inline std::string write_small_images(const TemporaryFolder& folder) {
  auto write = [&](const std::string& part, std::uint32_t count) {
    std::string images, labels;
    for (std::uint32_t i = 0; i < count; ++i) {
      for (std::uint32_t pixel = 0; pixel < 28 * 28; ++pixel) images += static_cast<char>(pixel * (i + 3) % 251);
      labels += static_cast<char>(i % 10);
    }
    folder.write(part + "-images-idx3-ubyte.gz", gzipped(idx(0x08, {count, 28, 28}, images)));
    folder.write(part + "-labels-idx1-ubyte", idx(0x08, {count}, labels));
  };
  write("train", 64);
  write("t10k", 20);
  return folder.path();
}

// 5,000 characters.
inline std::string write_small_text(const TemporaryFolder& folder) {
  std::string text;
  for (int i = 0; text.size() < 5000; ++i) text += "line " + std::to_string(i * i) + ": \xc3\xa9t\xc3\xa9\n";
  return folder.write("text", text);
}

// Where this model's data is; empty if it makes its own.
inline std::string write_small_data(const std::string& model, const TemporaryFolder& folder) {
  if (model == "treelstm" || model == "unrolled") return {};
  return model == "lstm" || model == "gpt" ? write_small_text(folder) : write_small_images(folder);
}

}  // namespace regrow::data
