// SPDX-License-Identifier: Apache-2.0
// `regrow train --budget`: the same training in less memory, and what it says of it.
#include "tests/cli/program.h"

namespace regrow {
namespace {

using testing::HasSubstr;

class Budgets : public Program, public testing::WithParamInterface<std::string> {};

TEST_P(Budgets, GiveTheSameParametersInLessMemory) {
  const std::vector<std::string> base = {GetParam(), "--size", "small", "--batch", "32", "--steps", "12", "--seed", "5"};
  const nlohmann::json unlimited = train(base);
  std::vector<std::string> more = base;
  more.insert(more.end(), {"--budget", "75%", "--verify"});
  const nlohmann::json result = train(more);
  EXPECT_EQ(result.value("params_hash", "none"), unlimited.value("params_hash", ""));
  EXPECT_EQ(result.value("loss", 0.0), unlimited.value("loss", 1.0));
  const std::size_t budget = result.value("budget_bytes", std::size_t{0}), whole = result.value("unlimited_peak_bytes", std::size_t{0});
  EXPECT_EQ(budget, static_cast<std::size_t>(0.75 * static_cast<double>(whole)));
  EXPECT_LE(result.value("peak_bytes", whole), budget);
  EXPECT_LE(result.value("committed_bytes", whole), budget);
  EXPECT_LE(result.value("tensor_bytes", whole), result.value("peak_bytes", std::size_t{0}));
  EXPECT_GT(result.value("floor_bytes", std::size_t{0}), result.value("state_bytes", std::size_t{0}));
  EXPECT_LE(result.value("floor_bytes", whole), budget);
  EXPECT_GT(result.value("evictions", 0), 0);
  EXPECT_GT(result.value("recomputed_ops", 0), 0);
  EXPECT_GT(result.value("recompute_seconds", 0.0), 0);
  EXPECT_GT(result.value("decision_us_median", 0.0), 0);
  EXPECT_GE(result.value("decision_us_p99", 0.0), result.value("decision_us_median", 0.0));
}

INSTANTIATE_TEST_SUITE_P(Of, Budgets, testing::Values("resnet", "unet", "gpt"), [](const auto& model) { return model.param; });

TEST_F(Program, ABudgetInBytesIsNotMeasuredFirst) {
  const nlohmann::json result = train({"mlp", "--size", "small", "--steps", "6", "--budget", "512MiB", "--policy", "dtr-eq"});
  EXPECT_EQ(result.value("budget_bytes", std::size_t{0}), std::size_t{512} << 20);
  EXPECT_TRUE(result.at("unlimited_peak_bytes").is_null());
  EXPECT_EQ(result.value("evictions", 1), 0);
}

TEST_F(Program, ABudgetThatNothingCanMeetIsOneClearLine) {
  expect_complaint({"train", "mlp", "--data", small_data(), "--size", "small", "--steps", "2", "--budget", "100KiB"}, 1, "budget");
}

TEST_F(Program, BudgetsThatAreNoneAreRefused) {
  for (const char* text : {"x", "0", "-5MiB", "0%", "30%%", "%", "1e99999%", "12 parsecs"}) {
    expect_complaint({"train", "mlp", "--data", small_data(), std::string("--budget=") + text}, 2, "--budget");
  }
  expect_complaint({"train", "mlp", "--data", small_data(), "--policy", "best"}, 2, "--policy");
}

TEST_F(Program, ATraceOfAStepIsReplayed) {
  const std::string trace = folder_.path() / "trace", json = folder_.path() / "plan.json";
  const nlohmann::json trained = train({"gpt", "--size", "small", "--steps", "8", "--trace", trace});
  const Ending ending = run({"plan", trace, "--ratio", "1", "0.6", "--policy", "dtr-eq", "--json", json});
  ASSERT_EQ(ending.exit_code, 0) << ending;
  const nlohmann::json plan = nlohmann::json::parse(std::ifstream(json), nullptr, false);
  // One step of several: its own peak is at most that of training, and nearly that.
  EXPECT_LE(plan.value("peak_bytes", std::size_t{0}), trained.value("peak_bytes", std::size_t{0}));
  EXPECT_GE(plan.value("peak_bytes", std::size_t{0}), trained.value("peak_bytes", std::size_t{0}) * 9 / 10);
  EXPECT_EQ(plan.at("results").at(1).value("status", ""), "ok");
  expect_complaint({"train", "mlp", "--data", small_data(), "--size", "small", "--steps", "2", "--trace", trace}, 1, "no step");
}

}  // namespace
}  // namespace regrow
