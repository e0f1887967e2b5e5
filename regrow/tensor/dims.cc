// SPDX-License-Identifier: Apache-2.0
#include "regrow/tensor/dims.h"

#include "regrow/base/error.h"
#include "regrow/base/hash.h"

namespace regrow {

void Dims::too_many() { fail("a tensor has at most {} axes", max_rank); }

int resolve_axis(std::int64_t axis, int rank) {
  require(axis >= -rank && axis < rank, "axis {} is out of range for {} axes", axis, rank);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Dims Axes::resolve(int rank) const {
  bool named[max_rank] = {};
  if (all_) std::fill(named, named + rank, true);
  for (std::int64_t axis : list_) {
    const int i = resolve_axis(axis, rank);
    require(!named[i], "axis {} is named twice", axis);
    named[i] = true;
  }
  Dims sorted;
  for (int i = 0; i < rank; ++i)
    if (named[i]) sorted.push_back(i);
  return sorted;
}

std::int64_t element_count(const Shape& shape) noexcept {
  std::int64_t count = 1;
  for (std::int64_t size : shape) count *= size;
  return count;
}

std::string to_string(const Dims& dims) {
  std::string text = "(";
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  return text + (dims.size() == 1 ? ",)" : ")");
}

std::string to_string(const Axes& axes) { return axes.all() ? "all" : to_string(axes.list()); }

std::uint64_t hash_of(const Dims& dims) noexcept {
  std::uint64_t hash = dims.size();
  for (std::int64_t value : dims) hash = hash_combine(hash, static_cast<std::uint64_t>(value));
  return hash;
}

}  // namespace regrow
