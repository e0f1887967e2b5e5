// SPDX-License-Identifier: Apache-2.0
#include "regrow/optim/sgd.h"

namespace regrow::optim {

SGD::SGD(std::vector<Parameter> parameters, const SGDOptions& options, Site site)
    : Optimizer(std::move(parameters), options.learning_rate,
                options.momentum != 0 ? std::vector<Slot>{{.name = "buffer"}} : std::vector<Slot>{}, site),
      options_(options) {
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    fail_at(site, "SGD: nesterov needs momentum and no dampening");
}

Op SGD::update(double learning_rate) const {
  if (options_.momentum == 0) return op("sgd_step", {{"learning_rate", learning_rate}, {"weight_decay", options_.weight_decay}});
  return op("sgd_momentum_step", {{"learning_rate", learning_rate},
                                  {"momentum", options_.momentum},
                                  {"dampening", options_.dampening},
                                  {"weight_decay", options_.weight_decay},
                                  {"nesterov", options_.nesterov}});
}

}  // namespace regrow::optim
