// SPDX-License-Identifier: Apache-2.0
// The program as a user runs it: exit codes, what it says, and where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/cli/program.h"

namespace regrow {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST_F(Program, HelpIsEverywhere) {
  const Ending top = run({"--help"});
  EXPECT_EQ(top.exit_code, 0) << top;
  for (const char* command : {"train", "sample", "ops", "info"}) {
    EXPECT_THAT(top.out, HasSubstr(command));
    const Ending help = run({command, "--help"});
    EXPECT_EQ(help.exit_code, 0) << help;
    EXPECT_THAT(help.out, HasSubstr("Usage")) << help;
  }
  const std::string train = run({"train", "--help"}).out;
  for (const char* option : {"--data",        "--epochs",    "--steps", "--batch", "--learning-rate", "--seed",  "--threads",
                             "--async-level", "--lookahead", "--json",  "--size",  "--width",         "--depth", "--length",
                             "--checkpoint",  "--resume",    "mlp",     "cnn",     "resnet",          "unet",    "lstm",
                             "gpt",           "treelstm",    "unrolled"}) {
    EXPECT_THAT(train, HasSubstr(option));
  }
}

TEST_F(Program, WrongArgumentsAreOneLineAndExitCodeTwo) {
  expect_complaint({}, 2, "subcommand");
  expect_complaint({"fly"}, 2, "fly");
  expect_complaint({"train"}, 2, "model");
  expect_complaint({"train", "rnn"}, 2, "rnn");
  expect_complaint({"train", "mlp", "cnn"}, 2, "cnn");
  expect_complaint({"train", "mlp", "--bacth", "3"}, 2, "--bacth");
  expect_complaint({"train", "mlp", "--batch", "0"}, 2, "--batch");
  expect_complaint({"train", "mlp", "--batch", "many"}, 2, "--batch");
  expect_complaint({"train", "mlp", "--steps", "-1"}, 2, "--steps");
  expect_complaint({"train", "mlp", "--epochs", "1", "--steps", "5"}, 2, "--epochs");
  expect_complaint({"train", "mlp", "--size", "huge"}, 2, "--size");
  expect_complaint({"train", "mlp", "--length", "5"}, 2, "mlp has no such size");
  expect_complaint({"train", "treelstm", "--depth", "5"}, 2, "treelstm has no such size");
  expect_complaint({"train", "unrolled", "--length", "5"}, 2, "unrolled has no such size");
  expect_complaint({"train", "treelstm", "--data", "x"}, 2, "treelstm generates what it learns from");
  expect_complaint({"train", "resnet", "--depth", "21"}, 2, "a depth of 21 is not 6 n + 2");
  expect_complaint({"train", "gpt", "--width", "65"}, 2, "a width of 65 is not divided by its 2 heads");
  expect_complaint({"train", "mlp", "--learning-rate", "-0.1"}, 2, "--learning-rate");
  expect_complaint({"train", "mlp", "--learning-rate", "nan"}, 2, "--learning-rate");
  expect_complaint({"train", "mlp", "--threads", "0"}, 2, "--threads");
  expect_complaint({"train", "mlp", "--async-level", "3"}, 2, "--async-level");
  expect_complaint({"train", "mlp", "--lookahead", "100000"}, 2, "--lookahead");
  expect_complaint({"ops", "no_such_operator"}, 2, "no_such_operator");
}

TEST_F(Program, BadDataIsOneLineAndExitCodeOne) {
  expect_complaint({"train", "mlp", "--data", folder_.path() / "none"}, 1, "none: no such folder");
  expect_complaint({"train", "mlp", "--data", folder_.path()}, 1, "neither train-images-idx3-ubyte nor");
  const std::string folder = small_data();
  const std::filesystem::path images = folder_.path() / "train-images-idx3-ubyte.gz";
  std::filesystem::resize_file(images, std::filesystem::file_size(images) / 2);
  expect_complaint({"train", "mlp", "--data", folder}, 1, "train-images-idx3-ubyte.gz: truncated");
  expect_complaint({"train", "gpt", "--data", folder_.path() / "none"}, 1, "none: No such file");
  expect_complaint({"train", "gpt", "--data", folder_.write("latin", "caf\xe9")}, 1, "latin: not UTF-8 at byte 3");
  expect_complaint({"train", "lstm", "--data", folder_.write("short", "too short")}, 1, "9 characters is too short");
  small_data();
  folder_.write("t10k-labels-idx1-ubyte", "garbage and more");
  expect_complaint({"train", "mlp", "--data", folder}, 1, "t10k-labels-idx1-ubyte: not an IDX file");
}

TEST_F(Program, AResultFileThatCannotBeWrittenIsRefusedBeforeTraining) {
  expect_complaint({"train", "mlp", "--data", small_data(), "--json", folder_.path() / "none" / "a.json"}, 1, "a.json");
}

TEST_F(Program, AnEpochIsEveryBatchOnce) {
  EXPECT_EQ(train({"mlp", "--size", "small", "--epochs", "2", "--batch", "10"}).value("steps", 0),
            2 * 7);  // 64 images: the last batch holds 4
}

TEST_F(Program, TheSameParametersAtEveryAsyncLevelAndLookahead) {
  const auto hash = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"cnn", "--size", "small", "--steps", "4", "--batch", "8"});
    return train(more).value("params_hash", "none");
  };
  const std::string wanted = hash({});
  EXPECT_EQ(hash({"--async-level", "0"}), wanted);
  EXPECT_EQ(hash({"--async-level", "1", "--lookahead", "0"}), wanted);
  EXPECT_EQ(hash({"--lookahead", "100"}), wanted);
  EXPECT_NE(hash({"--seed", "4"}), wanted);
  EXPECT_NE(hash({"--learning-rate", "0.5"}), wanted);
}

TEST_F(Program, OutputThatIsNoTerminalIsPlainLines) {
  const Ending ending = run({"train", "mlp", "--size", "small", "--data", small_data(), "--steps", "20"});
  EXPECT_EQ(ending.exit_code, 0) << ending;
  EXPECT_THAT(ending.out, HasSubstr("step 20/20  loss "));
  EXPECT_THAT(ending.out, HasSubstr("images/s"));
  EXPECT_THAT(ending.out, HasSubstr("accuracy"));
  EXPECT_THAT(ending.out, Not(HasSubstr("\r")));
  EXPECT_THAT(ending.out, Not(HasSubstr("\x1b")));
}

TEST_F(Program, CtrlCEndsTrainingAtOnceWithExitCode130) {
  const Ending ending = run({"train", "cnn", "--size", "small", "--data", small_data(), "--steps", "1000000"},
                            {.signal = SIGINT, .after = "step 1/"});
  EXPECT_FALSE(ending.hung) << ending;
  EXPECT_EQ(ending.exit_code, 130) << ending;
  EXPECT_LT(ending.seconds, 10);
}

TEST_F(Program, OperatorsAreListedAndDescribed) {
  const Ending list = run({"ops"});
  EXPECT_EQ(list.exit_code, 0);
  for (const char* name : {"add(", "matmul(", "conv2d(", "cross_entropy("}) EXPECT_THAT(list.out, HasSubstr(name));
  const Ending one = run({"ops", "sum"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.out, StartsWith("sum("));
  EXPECT_THAT(one.out, HasSubstr("axis"));
  EXPECT_THAT(one.out, HasSubstr("keepdims"));
  EXPECT_THAT(one.out, HasSubstr("f32"));
}

TEST_F(Program, EveryOperatorCanBeDescribed) {
  const std::string page = folder_.path() / "ops.md";
  const Ending all = run({"ops", "--markdown", page});
  ASSERT_EQ(all.exit_code, 0) << all;
  std::ifstream lines(page);
  int described = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("### ")) continue;
    ++described;
    const Ending one = run({"ops", line.substr(4)});
    EXPECT_EQ(one.exit_code, 0) << one;
    EXPECT_THAT(one.out, StartsWith(line.substr(4) + "("));
  }
  EXPECT_GT(described, 80);
}

TEST_F(Program, InfoNamesVersionsDevicesAndOptions) {
  const Ending info = run({"info"});
  EXPECT_EQ(info.exit_code, 0);
  for (const char* word : {"version", "cpu:0", "threads", "oneDNN 2.", "Highway 1.", "async_level", "REGROW_ASYNC_LEVEL"}) {
    EXPECT_THAT(info.out, HasSubstr(word));
  }
}

}  // namespace
}  // namespace regrow
