// SPDX-License-Identifier: Apache-2.0
// What an Error says, without the line that it comes from. Any thread.
#pragma once

#include <string>

#include "regrow/base/error.h"

namespace regrow {

// Of what f throws; empty if nothing.
template <class F>
std::string error_message(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

}  // namespace regrow
