// SPDX-License-Identifier: Apache-2.0
#include "regrow/cli/models/model.h"

#include <algorithm>
#include <utility>

namespace regrow::cli {

std::span<const ModelSpec> all_models() {
  static const ModelSpec models[] = {mlp(), cnn(), resnet(), unet(), lstm(), gpt(), treelstm(), unrolled()};
  return models;
}

const ModelSpec* find_model(std::string_view name) {
  const auto models = all_models();
  const auto found = std::ranges::find(models, name, &ModelSpec::name);
  return found == models.end() ? nullptr : &*found;
}

std::unique_ptr<optim::Optimizer> adamw(std::vector<Parameter> parameters, double learning_rate) {
  return std::make_unique<optim::AdamW>(std::move(parameters), optim::AdamWOptions{.learning_rate = learning_rate});
}

std::unique_ptr<optim::Optimizer> sgd(std::vector<Parameter> parameters, double learning_rate) {
  return std::make_unique<optim::SGD>(
      std::move(parameters),
      optim::SGDOptions{.learning_rate = learning_rate, .momentum = 0.9, .weight_decay = 5e-4, .nesterov = true});
}

}  // namespace regrow::cli
