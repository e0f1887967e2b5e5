// SPDX-License-Identifier: Apache-2.0
// The one logger, named "regrow", to stderr: level from REGROW_LOG (trace, debug, info, warn, error, critical, off; default warn).
// Any thread, at any time: it is made at the first use and never destroyed, so that exit handlers may log.
#pragma once

#include <spdlog/logger.h>

namespace regrow {

spdlog::logger& log();

}  // namespace regrow
