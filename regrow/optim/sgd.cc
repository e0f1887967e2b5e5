// SPDX-License-Identifier: Apache-2.0
#include "regrow/optim/sgd.h"

namespace regrow::optim {

SGD::SGD(std::vector<Parameter> parameters, const SGDOptions& options, Site site) {
  add_group(std::move(parameters), options, site);
}

void SGD::add_group(std::vector<Parameter> parameters, const SGDOptions& options, Site site) {
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    fail_at(site, "SGD: nesterov needs momentum and no dampening");
  add_slots(std::move(parameters), options.learning_rate,
            options.momentum != 0 ? std::vector<Slot>{{.name = "buffer"}} : std::vector<Slot>{}, site);
  options_.push_back(options);
}

Op SGD::update(std::size_t group, double learning_rate) const {
  const SGDOptions& options = options_[group];
  if (options.momentum == 0) return op("sgd_step", {{"learning_rate", learning_rate}, {"weight_decay", options.weight_decay}});
  return op("sgd_momentum_step", {{"learning_rate", learning_rate},
                                  {"momentum", options.momentum},
                                  {"dampening", options.dampening},
                                  {"weight_decay", options.weight_decay},
                                  {"nesterov", options.nesterov}});
}

}  // namespace regrow::optim
