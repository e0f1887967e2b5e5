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
  // More parameters, with options of their own.
  void add_group(std::vector<Parameter> parameters, const AdamOptions& options, Site site = Site::here());

 private:
  Op update(std::size_t group, double learning_rate) const override;

  std::vector<AdamOptions> options_;
};

struct AdamWOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 1e-2;  // a step takes learning_rate weight_decay of a parameter off it
};

class AdamW : public Adam {
 public:
  explicit AdamW(std::vector<Parameter> parameters, const AdamWOptions& options = {}, Site site = Site::here());
  void add_group(std::vector<Parameter> parameters, const AdamWOptions& options, Site site = Site::here());
};

}  // namespace regrow::optim
