// SPDX-License-Identifier: Apache-2.0
#include "regrow/optim/adam.h"

namespace regrow::optim {
namespace {

AdamOptions decoupled(const AdamWOptions& options) {
  return {.learning_rate = options.learning_rate,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .epsilon = options.epsilon,
          .weight_decay = options.weight_decay,
          .decoupled = true};
}

}  // namespace

Adam::Adam(std::vector<Parameter> parameters, const AdamOptions& options, Site site) {
  add_group(std::move(parameters), options, site);
}

void Adam::add_group(std::vector<Parameter> parameters, const AdamOptions& options, Site site) {
  add_slots(std::move(parameters), options.learning_rate,
            {{.name = "mean"}, {.name = "square"}, {.name = "step", .counter = true}}, site);
  options_.push_back(options);
}

Op Adam::update(std::size_t group, double learning_rate) const {
  const AdamOptions& options = options_[group];
  return op("adam_step", {{"learning_rate", learning_rate},
                          {"beta1", options.beta1},
                          {"beta2", options.beta2},
                          {"epsilon", options.epsilon},
                          {"weight_decay", options.weight_decay},
                          {"decoupled", options.decoupled}});
}

AdamW::AdamW(std::vector<Parameter> parameters, const AdamWOptions& options, Site site)
    : Adam(std::move(parameters), decoupled(options), site) {}

void AdamW::add_group(std::vector<Parameter> parameters, const AdamWOptions& options, Site site) {
  Adam::add_group(std::move(parameters), decoupled(options), site);
}

}  // namespace regrow::optim
