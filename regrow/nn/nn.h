// SPDX-License-Identifier: Apache-2.0
// All modules in one include.
#pragma once

#include "regrow/nn/activations.h"
#include "regrow/nn/attention.h"
#include "regrow/nn/buffer.h"
#include "regrow/nn/conv2d.h"
#include "regrow/nn/embedding.h"
#include "regrow/nn/initializer.h"
#include "regrow/nn/linear.h"
#include "regrow/nn/lstm.h"
#include "regrow/nn/module.h"
#include "regrow/nn/module_list.h"
#include "regrow/nn/normalization.h"
#include "regrow/nn/pooling.h"
#include "regrow/nn/sequential.h"
#include "regrow/nn/state_dict.h"
