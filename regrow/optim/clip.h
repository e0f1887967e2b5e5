// SPDX-License-Identifier: Apache-2.0
// Clipping of gradients, between backward() and step(). One thread at a time. Nothing waits.
#pragma once

#include <vector>

#include "regrow/frontend/parameter.h"

namespace regrow::optim {

// Where the Euclidean norm of all gradients together exceeds `most`, every gradient is scaled by most / (norm + 1e-6), as PyTorch
// does. Returns the norm before that: f32, or f64 where a gradient is. Norms of narrow types are taken in f32. If the norm is not
// finite, neither are the gradients afterwards; look at what is returned.
Tensor clip_grad_norm(const std::vector<Parameter>& parameters, double most, Site site = Site::here());
// Every element of every gradient is brought into [-most, most].
void clip_grad_value(const std::vector<Parameter>& parameters, double most, Site site = Site::here());

}  // namespace regrow::optim
