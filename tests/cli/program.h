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
#include "tests/data/small_data.h"
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

  std::string small_data() const { return data::write_small_images(folder_); }
  // What --data names for this model, or nothing.
  std::vector<std::string> data_for(const std::string& model) const {
    const std::string path = data::write_small_data(model, folder_);
    return path.empty() ? std::vector<std::string>{} : std::vector<std::string>{"--data", path};
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
  TemporaryFolder folder_;
};

}  // namespace regrow
