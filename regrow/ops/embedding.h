// SPDX-License-Identifier: Apache-2.0
// What embedding and its gradient share. Any thread.
#pragma once

#include "regrow/ops/op.h"

namespace regrow {

AttrSpec padding_attribute();
// The row that gets no gradient, -1 if there is none. Negative ones count from the end. Throws Error if there is no such row.
std::int64_t padding_row(const Attrs& attrs, std::int64_t rows);
// The indices row-major. Throws Error "embedding: index 12 is out of range for 10 rows".
void embedding_rows(const View& indices, std::int64_t rows, std::string_view op, std::int64_t* to);

}  // namespace regrow
