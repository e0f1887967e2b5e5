// SPDX-License-Identifier: Apache-2.0
// All policies by name. Any thread; a policy belongs to one machine.
#pragma once

#include <memory>
#include <string_view>

#include "regrow/machine/policy.h"

namespace regrow::remat {

inline constexpr std::string_view policies[] = {"next-use", "dtr-eq", "dtr", "local", "lru", "size", "coop"};
inline constexpr std::string_view default_policy = policies[0];

// `exact`: all storages are compared at each eviction, as published simulators do. An unknown name is an error.
std::unique_ptr<machine::Policy> make_policy(std::string_view name, bool exact = false);

}  // namespace regrow::remat
