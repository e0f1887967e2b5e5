// SPDX-License-Identifier: Apache-2.0
// Files of tensors, and checkpoints, in one include.
#pragma once

#include "regrow/io/checkpoint.h"
#include "regrow/io/npy.h"
#include "regrow/io/safetensors.h"
