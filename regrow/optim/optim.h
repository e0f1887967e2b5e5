// SPDX-License-Identifier: Apache-2.0
// All optimizers, schedules and clipping in one include.
#pragma once

#include "regrow/optim/adam.h"
#include "regrow/optim/clip.h"
#include "regrow/optim/schedule.h"
#include "regrow/optim/sgd.h"
