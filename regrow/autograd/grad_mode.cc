// SPDX-License-Identifier: Apache-2.0
#include "regrow/autograd/grad_mode.h"

#include <utility>

namespace regrow {
namespace {

constinit thread_local bool enabled_here = true;

}  // namespace

bool grad_enabled() noexcept { return enabled_here; }

GradMode::GradMode(bool enabled) noexcept : before_(std::exchange(enabled_here, enabled)) {}
GradMode::~GradMode() { enabled_here = before_; }

}  // namespace regrow
