// SPDX-License-Identifier: Apache-2.0
// All policies by name. Any thread; a policy belongs to one machine.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "regrow/machine/policy.h"

namespace regrow::remat {

// lru, size, local, dtr, dtr-eq, coop, next-use (the default).
std::span<const std::string_view> policy_names() noexcept;
inline constexpr std::string_view default_policy = "next-use";

// `exact`: all storages are compared at each eviction, as published simulators do. An unknown name is an error.
std::unique_ptr<machine::Policy> make_policy(std::string_view name, bool exact = false);

}  // namespace regrow::remat
