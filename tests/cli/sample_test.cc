// SPDX-License-Identifier: Apache-2.0
// `regrow sample`: text from a checkpoint.
#include "regrow/data/text.h"
#include "tests/cli/program.h"

namespace regrow {
namespace {

class Sample : public Program {
 protected:
  std::string trained(const std::string& model) const {
    const std::string file = folder_.path() / (model + ".safetensors");
    train({model, "--size", "small", "--steps", "20", "--checkpoint", file});
    return file;
  }
  static std::string sampled(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "sample");
    const Ending ending = run(arguments);
    EXPECT_EQ(ending.exit_code, 0) << ending;
    return ending.out;
  }
};

TEST_F(Sample, PrintsAsManyCharactersOfTheTextsOwnAsAreAskedFor) {
  for (const char* model : {"lstm", "gpt"}) {
    const std::string file = trained(model);
    const std::string out = sampled({file, "--length", "50", "--temperature", "0.8"});
    EXPECT_EQ(data::decode_utf8(out, model).size(), 51u) << out;  // and the end of the line
    EXPECT_EQ(sampled({file, "--length", "50", "--temperature", "0.8"}), out);
    EXPECT_NE(sampled({file, "--length", "50", "--temperature", "0.8", "--seed", "1"}), out);
    // More than the model looks back.
    EXPECT_EQ(data::decode_utf8(sampled({file, "--length", "90", "--prompt", "line 1"}), model).size(), 91u);
    // The likeliest needs no chance.
    EXPECT_EQ(sampled({file, "--length", "20", "--temperature", "0", "--seed", "1"}),
              sampled({file, "--length", "20", "--temperature", "0", "--seed", "2"}));
  }
}

TEST_F(Sample, WhatIsNoModelOfTextIsRefused) {
  const std::string file = folder_.path() / "mlp.safetensors";
  train({"mlp", "--size", "small", "--steps", "1", "--checkpoint", file});
  expect_complaint({"sample", file}, 1, "a checkpoint of mlp, which writes no text");
  expect_complaint({"sample", folder_.path() / "none"}, 1, "none");
  expect_complaint({"sample", folder_.write("junk", "not a checkpoint at all")}, 1, "junk");
  expect_complaint({"sample"}, 2, "checkpoint");
  expect_complaint({"sample", file, "--temperature", "-1"}, 2, "--temperature");
  expect_complaint({"sample", file, "--length", "0"}, 2, "--length");
  const std::string good = trained("gpt");
  expect_complaint({"sample", good, "--prompt", "\xe2\x82\xac"}, 1, "U+20AC");
  expect_complaint({"sample", good, "--prompt", ""}, 2, "--prompt");
  std::filesystem::resize_file(good, std::filesystem::file_size(good) - 1);
  expect_complaint({"sample", good}, 1, "gpt.safetensors");
}

}  // namespace
}  // namespace regrow
