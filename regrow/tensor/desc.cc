// SPDX-License-Identifier: Apache-2.0
#include "regrow/tensor/desc.h"

namespace regrow {

std::string to_string(const Desc& desc) { return to_string(desc.dtype) + (desc.known ? to_string(desc.shape) : "(?)"); }

}  // namespace regrow
