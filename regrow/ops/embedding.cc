// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/embedding.h"

#include <utility>

#include "regrow/kernels/element_types.h"
#include "regrow/tensor/walk.h"

namespace regrow {

AttrSpec padding_attribute() {
  return {.name = "padding_idx",
          .type = AttrType::integer,
          .optional = true,
          .doc = "The row that gets no gradient; negative ones count from the end."};
}

std::int64_t padding_row(const Attrs& attrs, std::int64_t rows) {
  if (!attrs.has("padding_idx")) return -1;
  const std::int64_t row = attrs.get<std::int64_t>("padding_idx");
  require(row >= -rows && row < rows, "padding_idx {} is out of range for {} rows", row, rows);
  return row < 0 ? row + rows : row;
}

void embedding_rows(const View& indices, std::int64_t rows, std::string_view op, std::int64_t* to) {
  kernels::with_integer(indices.dtype(), [&]<class T>(T) {
    const T* from = indices.as<const T>();
    walk<1>(indices.shape(), {indices.strides()}, [&](std::int64_t at) {
      const T row = from[at];
      if (!std::cmp_greater_equal(row, 0) || !std::cmp_less(row, rows))
        fail_at(Site{}, "{}: index {} is out of range for {} rows", op, row, rows);
      *to++ = static_cast<std::int64_t>(row);
    });
  });
}

}  // namespace regrow
