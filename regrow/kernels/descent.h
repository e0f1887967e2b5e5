// SPDX-License-Identifier: Apache-2.0
// Steps of gradient descent over all elements of a parameter in one pass. 16-bit types compute in f32. Re-entrant. Any thread. An
// element's bits depend on its operands alone.
#pragma once

#include <cstdint>

#include "regrow/tensor/view.h"

namespace regrow::kernels {

// Tensors of one shape and any floating types and strides; results are contiguous, and may be the operand that they replace if
// that is contiguous too.

struct Momentum {
  double learning_rate = 0, momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};
// g = grad + weight_decay param; buffer' = momentum buffer + (1 - dampening) g; param' = param - learning_rate step, where step
// is buffer', or g + momentum buffer' (Nesterov). Without `buffer` (null data): param' = param - learning_rate g.
void descend(const Momentum& how, const View& param, const View& grad, const View& buffer, const View& new_param,
             const View& new_buffer);

struct Adaptive {
  double learning_rate = 0, beta1 = 0, beta2 = 0, epsilon = 0, weight_decay = 0;
  bool decoupled = false;  // weight decay: of the parameter itself (AdamW), not by way of the gradient
};
// Adam (Kingma & Ba 2015, algorithm 1) with both bias corrections; `step` counts from 1.
void descend_adaptively(const Adaptive& how, std::int64_t step, const View& param, const View& grad, const View& mean,
                        const View& square, const View& new_param, const View& new_mean, const View& new_square);

}  // namespace regrow::kernels
