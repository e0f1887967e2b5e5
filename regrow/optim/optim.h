// SPDX-License-Identifier: Apache-2.0
// All optimizers in one include.
#pragma once

#include "regrow/optim/adam.h"
#include "regrow/optim/sgd.h"
