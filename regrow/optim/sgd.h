// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent, with momentum as PyTorch has it (operators sgd_step and sgd_momentum_step). One thread at a time.
#pragma once

#include "regrow/optim/optimizer.h"

namespace regrow::optim {

struct SGDOptions {
  double learning_rate = 1e-2;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
};

class SGD : public Optimizer {
 public:
  explicit SGD(std::vector<Parameter> parameters, const SGDOptions& options = {}, Site site = Site::here());
  // More parameters, with options of their own.
  void add_group(std::vector<Parameter> parameters, const SGDOptions& options, Site site = Site::here());

 private:
  Op update(std::size_t group, double learning_rate) const override;

  std::vector<SGDOptions> options_;
};

}  // namespace regrow::optim
