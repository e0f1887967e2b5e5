// SPDX-License-Identifier: Apache-2.0
// Traces as files: our own format, and the plain form of the logs that were published with DTR. Any thread.
//
// Ours is text. The first line is `regrow-trace 1`; then one command a line, fields separated by spaces, tensors numbered in the order in
// which they appear:
//
//     put BYTES DEVICE
//     op NAME KEY NANOSECONDS WORKSPACE DEVICE FLAGS  N INPUT...  M (BYTES VIEW_OF REUSE)...  K DELETED...
//     release TENSOR
//     want TENSOR
//     pin TENSOR
//
// KEY is hexadecimal; FLAGS are letters: r (may run again), f (may fail by value), s (an update of state), or - for none. VIEW_OF is the
// index of an input, or -1; REUSE is a bit mask of inputs.
//
// The published form: `K id bytes` (a constant), `C cost n in... m (id bytes alias)... name` (cost in nanoseconds), `G id` and `R id` (one
// reference to the storage more, or less), `P id` (pin). Each output and constant holds one reference.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "regrow/remat/trace.h"

namespace regrow::remat {

// Either format, told apart by the first line. Errors name the line. A file must hold an operation.
Trace read_trace(const std::string& path);
Trace parse_trace(std::string_view text, std::string_view origin);
void write_trace(const Trace& trace, std::ostream& out);
void write_trace(const Trace& trace, const std::string& path);

}  // namespace regrow::remat
