// SPDX-License-Identifier: Apache-2.0
// What every model of `regrow train` promises: it learns, says how it went, and can be stopped and continued.
#include "regrow/cli/models/model.h"

#include <thread>

#include "regrow/cli/train.h"
#include "tests/cli/program.h"

namespace regrow {
namespace {

using testing::HasSubstr;

class Models : public Program, public testing::WithParamInterface<std::string> {
 protected:
  static std::vector<std::string> small(std::vector<std::string> more) {
    more.insert(more.begin(), {GetParam(), "--size", "small"});
    return more;
  }
};

TEST_P(Models, TheResultSaysHowTrainingWent) {
  const nlohmann::json result = train(small({"--steps", "5"}));
  EXPECT_EQ(result.value("model", ""), GetParam());
  EXPECT_EQ(result.value("steps", 0), 5);
  EXPECT_GT(result.value("seconds_per_step", 0.0), 0);
  EXPECT_GT(result.value("loss", 0.0), 0);
  EXPECT_GT(result.value(std::string(cli::find_model(GetParam())->measure), -1.0), 0) << result;
  EXPECT_EQ(result.value("params_hash", "").size(), 16u) << result;
  EXPECT_GT(result.value("operators", 0), 5 * 10);
  // The state is at least the parameters and what the optimizer keeps of each; all of it lives at the peak.
  const std::size_t state = result.value("state_bytes", std::size_t{0}), peak = result.value("peak_bytes", std::size_t{0});
  EXPECT_GE(state, 4 * 2 * result.value("parameters", std::size_t{0}));
  EXPECT_GT(peak, state);
  EXPECT_LE(result.value("working_set_bytes", std::size_t{0}), peak);
  EXPECT_GT(result.value("floor_share", 0.0), 0);
}

TEST_P(Models, StoppingAndGoingOnGivesTheBitsOfNeverStopping) {
  const std::string file = folder_.path() / "checkpoint";
  const auto hash = [&](std::vector<std::string> more) { return train(small(std::move(more))).value("params_hash", "none"); };
  const std::string straight = hash({"--steps", "6", "--seed", "3"});
  EXPECT_NE(hash({"--steps", "4", "--seed", "3", "--checkpoint", file}), straight);
  const nlohmann::json resumed = train({GetParam(), "--steps", "6", "--resume", file});
  EXPECT_EQ(resumed.value("params_hash", ""), straight);
  EXPECT_EQ(resumed.value("steps", 0), 6);
  EXPECT_NE(hash({"--steps", "6", "--seed", "4"}), straight);
}

TEST_P(Models, SizesCanBeChosen) {
  const cli::ModelSpec& model = *cli::find_model(GetParam());
  const auto parameters = [&](std::vector<std::string> more) { return train(small(std::move(more))).value("parameters", 0); };
  const int as_given = parameters({"--steps", "1"});
  EXPECT_GT(parameters({"--steps", "1", "--width", std::to_string(2 * model.small.width)}), as_given);
  if (model.small.depth == 0) return;
  EXPECT_GT(parameters({"--steps", "1", "--depth", std::to_string(model.small.depth + 6)}), as_given);  // 6: resnet
}

INSTANTIATE_TEST_SUITE_P(All, Models, testing::Values("mlp", "cnn", "resnet", "unet", "lstm", "gpt", "treelstm", "unrolled"),
                         [](const auto& model) { return model.param; });

// Activations stay channels-last from end to end; each of the 21 convolutions' weights may be brought into another layout in each
// of its three passes. (Of ResNet-20: 19 of 3 x 3 and 2 of 1 x 1.)
TEST_F(Program, AStepOfAResidualNetworkReordersNoActivation) {
  const nlohmann::json result = train({"resnet", "--size", "small", "--depth", "20", "--steps", "3"});
  EXPECT_EQ(result.value("activation_reorders_per_step", -1.0), 0);
  EXPECT_LE(result.value("weight_reorders_per_step", 1e9), 3 * 21 * std::thread::hardware_concurrency());
  EXPECT_GT(train({"unet", "--size", "small", "--steps", "3"}).value("weight_reorders_per_step", 0.0), 0);
}

TEST_F(Program, ACheckpointIsWrittenAfterEachEpoch) {
  const std::string file = folder_.path() / "checkpoint";
  const nlohmann::json straight = train({"mlp", "--size", "small", "--batch", "16", "--epochs", "3"});
  // 64 images: an epoch is 4 steps. Killed in the third, the run leaves what two epochs gave.
  train({"mlp", "--size", "small", "--batch", "16", "--epochs", "2", "--checkpoint", file});
  EXPECT_EQ(train({"mlp", "--epochs", "3", "--resume", file, "--checkpoint", file}).at("params_hash"),
            straight.at("params_hash"));
  EXPECT_EQ(train({"mlp", "--epochs", "3", "--resume", file}).at("params_hash"),
            straight.at("params_hash"));  // nothing is left to do
}

TEST_F(Program, ACheckpointThatDoesNotFitIsRefused) {
  const std::string file = folder_.path() / "checkpoint";
  train({"mlp", "--size", "small", "--steps", "4", "--checkpoint", file});
  expect_complaint({"train", "cnn", "--resume", file}, 2, "a checkpoint of mlp, not cnn");
  expect_complaint({"train", "mlp", "--width", "65", "--resume", file}, 2, "was made with 64");
  expect_complaint({"train", "mlp", "--seed", "1", "--resume", file}, 2, "was made with 0");
  expect_complaint({"train", "mlp", "--steps", "3", "--data", small_data(), "--resume", file}, 2, "4 steps are done already");
  expect_complaint({"train", "mlp", "--size", "small", "--resume", file}, 2, "--size");
  expect_complaint({"train", "mlp", "--resume", folder_.path() / "none"}, 1, "none");
  expect_complaint({"train", "mlp", "--resume", folder_.write("junk", "not a checkpoint at all")}, 1, "junk");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  expect_complaint({"train", "mlp", "--resume", file}, 1, "checkpoint");
}

TEST_F(Program, ACheckpointThatCannotBeWrittenIsRefusedBeforeTraining) {
  expect_complaint({"train", "mlp", "--data", small_data(), "--checkpoint", folder_.path() / "none" / "a"}, 1, "none");
}

TEST(LearningRate, FallsInLevelsThatDoNotDependOnTheEnd) {
  EXPECT_EQ(cli::learning_rate_factor(0), 1);
  EXPECT_EQ(cli::learning_rate_factor(49), 1);
  EXPECT_LT(cli::learning_rate_factor(50), 1);
  EXPECT_DOUBLE_EQ(cli::learning_rate_factor(3000), 0.5);
}

}  // namespace
}  // namespace regrow
