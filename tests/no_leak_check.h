// SPDX-License-Identifier: Apache-2.0
// For one file of a program whose processes end in the midst of things: exit() with threads at work, children of a fork. What
// they still hold then is no leak, and LeakSanitizer is told so. Without it this does nothing.
#pragma once

namespace regrow {
inline bool ends_in_the_midst = false;
}

extern "C" inline __attribute__((used)) int __lsan_is_turned_off() { return regrow::ends_in_the_midst; }
