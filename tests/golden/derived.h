// SPDX-License-Identifier: Apache-2.0
// Functions that golden files name and that are no operators, but made of them. One thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "regrow/frontend/tensor.h"

namespace regrow::golden {

// Whether there is such a function; if so, what it gives.
bool call_derived(const std::string& name, const std::vector<Tensor>& in, const nlohmann::json& attrs, std::vector<Tensor>& out);

}  // namespace regrow::golden
