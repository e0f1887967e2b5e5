// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/autocast.h"

#include "regrow/base/error.h"

namespace regrow {
namespace {

constinit thread_local std::optional<DType> dtype_here;

}  // namespace

std::optional<DType> autocast_dtype() noexcept { return dtype_here; }

Autocast::Autocast(DType dtype, Site site) : before_(dtype_here) {
  if (dtype != DType::bf16 && dtype != DType::f16 && dtype != DType::f32)
    fail_at(site, "Autocast: rounds to bf16 or f16, not {}", name_of(dtype));
  if (dtype == DType::f32) dtype_here.reset();
  else dtype_here = dtype;
}

Autocast::~Autocast() { dtype_here = before_; }

}  // namespace regrow
