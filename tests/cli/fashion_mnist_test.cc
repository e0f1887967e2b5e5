// SPDX-License-Identifier: Apache-2.0
// The first whole: one epoch over 60,000 real images with default settings.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "regrow/base/error.h"
#include "tests/data/idx_file.h"
#include "tests/process/child_process.h"

namespace regrow {
namespace {

TEST(FashionMnist, OneEpochOfTheConvolutionalNetworkReaches88Percent) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist")) GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  const TemporaryFolder folder;
  const std::string file = folder.path() / "result.json";
  const Ending ending = run_process({REGROW_PROGRAM, "train", "cnn", "--size", "small", "--json", file}, {.limit_seconds = 800});
  ASSERT_EQ(ending.exit_code, 0) << ending;
  const nlohmann::json result = nlohmann::json::parse(std::ifstream(file));
  EXPECT_GE(result.at("accuracy").get<double>(), 0.88) << result;
}

}  // namespace
}  // namespace regrow
