// SPDX-License-Identifier: Apache-2.0
// Runs the program as a user does, on small data. One thread.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "regrow/base/error.h"
#include "tests/data/idx_file.h"
#include "tests/process/child_process.h"

namespace regrow {

class Program : public testing::Test {
 protected:
  static Ending run(std::vector<std::string> arguments, RunOptions options = {}) {
    arguments.insert(arguments.begin(), REGROW_PROGRAM);
    return run_process(arguments, options);
  }
  // One line on stderr.
  static void expect_complaint(const std::vector<std::string>& arguments, int code, const std::string& text) {
    const Ending ending = run(arguments);
    EXPECT_EQ(ending.exit_code, code) << ending;
    EXPECT_THAT(ending.err, testing::StartsWith("regrow: ")) << ending;
    EXPECT_THAT(ending.err, testing::HasSubstr(text)) << ending;
    EXPECT_EQ(std::count(ending.err.begin(), ending.err.end(), '\n'), 1) << ending;
  }

  // 64 images to learn from, 20 to test with.
  std::string small_data() const {
    auto write = [&](const std::string& part, std::uint32_t count) {
      std::string images, labels;
      for (std::uint32_t i = 0; i < count; ++i) {
        for (std::uint32_t pixel = 0; pixel < 28 * 28; ++pixel) images += static_cast<char>(pixel * (i + 3) % 251);
        labels += static_cast<char>(i % 10);
      }
      folder_.write(part + "-images-idx3-ubyte.gz", data::gzipped(data::idx(0x08, {count, 28, 28}, images)));
      folder_.write(part + "-labels-idx1-ubyte", data::idx(0x08, {count}, labels));
    };
    write("train", 64);
    write("t10k", 20);
    return folder_.path();
  }
  // 5,000 characters.
  std::string small_text() const {
    std::string text;
    for (int i = 0; text.size() < 5000; ++i) text += "line " + std::to_string(i * i) + ": \xc3\xa9t\xc3\xa9\n";
    return folder_.write("text", text);
  }
  // What --data names for this model, or nothing.
  std::vector<std::string> data_for(const std::string& model) const {
    if (model == "treelstm" || model == "unrolled") return {};
    return {"--data", model == "lstm" || model == "gpt" ? small_text() : small_data()};
  }
  // The result of `regrow train` with these arguments, the model first.
  nlohmann::json train(std::vector<std::string> arguments) const {
    const std::string file = folder_.path() / "result.json";
    const std::vector<std::string> data = data_for(arguments.front());
    arguments.insert(arguments.begin(), "train");
    arguments.insert(arguments.end(), data.begin(), data.end());
    arguments.insert(arguments.end(), {"--json", file});
    const Ending ending = run(arguments);
    EXPECT_EQ(ending.exit_code, 0) << ending;
    EXPECT_EQ(ending.err, "");
    return nlohmann::json::parse(std::ifstream(file), nullptr, false);
  }
  data::TemporaryFolder folder_;
};

}  // namespace regrow
