// SPDX-License-Identifier: Apache-2.0
// Everything a user needs in one include.
#pragma once

#include "regrow/base/error.h"
#include "regrow/base/units.h"
#include "regrow/engine/default_channel.h"
#include "regrow/frontend/apply.h"
#include "regrow/frontend/attention.h"
#include "regrow/frontend/autocast.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"
#include "regrow/frontend/grad.h"
#include "regrow/frontend/loss.h"
#include "regrow/frontend/parameter.h"
#include "regrow/frontend/tensor.h"
#include "regrow/frontend/vision.h"
#include "regrow/io/io.h"
#include "regrow/kernels/parallel.h"
#include "regrow/nn/nn.h"
#include "regrow/ops.h"
#include "regrow/optim/optim.h"
#include "regrow/runtime/channel.h"

namespace regrow {

using kernels::kernel_threads;
using kernels::set_kernel_threads;

}  // namespace regrow
