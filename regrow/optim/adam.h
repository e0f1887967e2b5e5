// SPDX-License-Identifier: Apache-2.0
// Adam (Kingma and Ba 2015) and, with decoupled weight decay, AdamW (Loshchilov and Hutter 2019): operator adam_step. One thread
// at a time.
#pragma once

#include "regrow/optim/optimizer.h"

namespace regrow::optim {

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;  // weight decay shrinks the parameter itself
};

class Adam : public Optimizer {
 public:
  explicit Adam(std::vector<Parameter> parameters, const AdamOptions& options = {}, Site site = Site::here());

 private:
  Op update(double learning_rate) const override;

  AdamOptions options_;
};

}  // namespace regrow::optim
