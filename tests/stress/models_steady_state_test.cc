// SPDX-License-Identifier: Apache-2.0
// Each model of `regrow train`: once warm, its steps ask the system for nothing.
#include "regrow/cli/models/model.h"
#include "tests/data/small_data.h"
#include "tests/stress/steady_state.h"

namespace regrow {
namespace {

class ModelSteadyState : public testing::TestWithParam<const char*> {};

TEST_P(ModelSteadyState, AWarmStepAsksTheSystemForNothing) {
  const TemporaryFolder folder;
  const cli::ModelSpec& spec = *cli::find_model(GetParam());
  const cli::Model model = spec.make({.extent = spec.small, .seed = 1, .data = data::write_small_data(GetParam(), folder)});
  const auto optimizer = spec.optimizer(model.module.parameters(), spec.learning_rate);
  std::vector<cli::Batch> batches;
  for (int i = 0; i < 2; ++i) batches.push_back(model.batch(i));
  std::size_t next = 0;
  expect_nothing_asked([&] {
    Tensor loss = model.loss(batches[next++ % batches.size()]);
    optimizer->zero_grad();
    loss.backward();
    optimizer->step();
    return loss.detach();
  });
}

INSTANTIATE_TEST_SUITE_P(All, ModelSteadyState,
                         testing::Values("mlp", "cnn", "resnet", "unet", "lstm", "gpt", "treelstm", "unrolled"),
                         [](const auto& model) { return std::string(model.param); });

}  // namespace
}  // namespace regrow
