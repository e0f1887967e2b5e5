// SPDX-License-Identifier: Apache-2.0
// Everything a user needs in one include.
#pragma once

#include "regrow/base/error.h"
#include "regrow/base/units.h"
#include "regrow/engine/default_channel.h"
#include "regrow/runtime/channel.h"
