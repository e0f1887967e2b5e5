// SPDX-License-Identifier: Apache-2.0
#include "regrow/optim/adam.h"

namespace regrow::optim {

Adam::Adam(std::vector<Parameter> parameters, const AdamOptions& options, Site site)
    : Optimizer(std::move(parameters), options.learning_rate,
                {{.name = "mean"}, {.name = "square"}, {.name = "step", .counter = true}}, site),
      options_(options) {}

Op Adam::update(double learning_rate) const {
  return op("adam_step", {{"learning_rate", learning_rate},
                          {"beta1", options_.beta1},
                          {"beta2", options_.beta2},
                          {"epsilon", options_.epsilon},
                          {"weight_decay", options_.weight_decay},
                          {"decoupled", options_.decoupled}});
}

}  // namespace regrow::optim
