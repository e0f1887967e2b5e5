// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/optimizer.h"
#include "regrow/tensor/format.h"

namespace regrow {

void describe_update(const InferCall& call, std::span<const int> replaced) {
  const Shape& shape = call[0].shape;
  for (std::size_t i = 1; i < call.in.size(); ++i)
    require(call[i].shape == shape || call[i].shape.empty(), "the parameter has the shape {}, what belongs to it {}", shape,
            call[i].shape);
  for (std::size_t k = 0; k < replaced.size(); ++k) {
    call.out[k].shape = call[static_cast<std::size_t>(replaced[k])].shape;
    call.out[k].strides = contiguous_strides(call.out[k].shape);
  }
}

void check_floating(std::span<const DType> in, std::size_t count) {
  for (DType dtype : in.first(count)) require(is_floating(dtype), "updates floating types, not {}", name_of(dtype));
}

void require_in(const Attrs& attrs, std::string_view name, double low, double high) {
  const double value = attrs.get<double>(name);
  require(value >= low && value < high, "{} must lie in [{}, {}), not {}", name, low, high, value);
}

}  // namespace regrow
