// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/index.h"

#include <algorithm>

#include "regrow/base/error.h"
#include "regrow/frontend/tensor.h"

namespace regrow {
namespace {

struct Range {
  std::int64_t start, stop, step, count;
};

// PySlice_AdjustIndices of CPython.
Range adjusted(const Slice& slice, std::int64_t size, Site site) {
  const std::int64_t step = slice.step.value.value_or(1);
  if (step == 0) fail_at(site, "index: a slice step cannot be 0");
  auto bound = [&](const Bound& given, std::int64_t fallback) {
    if (!given.value) return fallback;
    const std::int64_t at = *given.value < 0 ? *given.value + size : *given.value;
    return step > 0 ? std::clamp<std::int64_t>(at, 0, size) : std::clamp<std::int64_t>(at, -1, size - 1);
  };
  const std::int64_t start = bound(slice.start, step > 0 ? 0 : size - 1), stop = bound(slice.stop, step > 0 ? size : -1);
  std::int64_t count = 0;
  if (step > 0 && start < stop) count = (stop - start - 1) / step + 1;
  if (step < 0 && stop < start) count = (start - stop - 1) / -step + 1;
  if (count == 0) return {0, 0, 1, 0};
  return {start, stop, step, count};
}

class Resolver {
 public:
  Resolver(const Shape& shape, Site site) : from_(shape), site_(site) {}

  void add(const Index& index, std::size_t whole_axes) {
    note_advanced(index.kind() == Index::Kind::integer || index.kind() == Index::Kind::tensor);
    switch (index.kind()) {
      case Index::Kind::integer: return add_integer(index.integer());
      case Index::Kind::slice: return add_range(adjusted(index.slice(), next_size(), site_));
      case Index::Kind::new_axis: return out_.shape.push_back(1);
      case Index::Kind::boolean:
        boolean_ = true;
        out_.selects_none = out_.selects_none || index.integer() == 0;
        return out_.shape.push_back(index.integer() != 0);
      case Index::Kind::ellipsis: return add_whole(whole_axes);
      case Index::Kind::tensor: return add_tensor(index);
    }
  }
  void add_whole(std::size_t axes) {
    for (; axes > 0; --axes) add_range({0, next_size(), 1, next_size()});
  }
  std::size_t left() const { return from_.size() - axis_; }
  ResolvedIndex take() {
    out_.whole = out_.whole && out_.squeeze.empty();
    out_.at = apart_ ? 0 : first_;
    if (boolean_ && !out_.tensors.empty()) fail_at(site_, "index: a boolean cannot stand beside an index tensor");
    return std::move(out_);
  }

 private:
  // Where integers and index tensors are neighbours the axes of the tensors stand in their place, otherwise first.
  void note_advanced(bool advanced) {
    if (advanced && ended_) apart_ = true;
    if (advanced && first_ < 0) first_ = out_.shape.rank();
    if (!advanced && first_ >= 0) ended_ = true;
  }
  void add_tensor(const Index& index) {
    const bool of_mask = index.mask_size() != -1;
    out_.axes.push_back(out_.shape.rank());
    out_.tensors.push_back(&index.tensor());
    out_.index_rank = std::max(out_.index_rank, of_mask ? 1 : index.tensor().rank(site_));
    if (!index.takes_axis()) return out_.shape.push_back(1);
    if (of_mask && index.mask_size() != next_size())
      fail_at(site_, "index: a mask with {} elements along axis {} of size {}", index.mask_size(), axis_, next_size());
    add_whole(1);
  }
  std::int64_t next_size() const { return from_[axis_]; }
  void add_integer(std::int64_t i) {
    const std::int64_t size = next_size(), at = i < 0 ? i + size : i;
    if (at < 0 || at >= size) fail_at(site_, "index: {} is out of range for axis {} of size {}", i, axis_, size);
    out_.squeeze.push_back(static_cast<std::int64_t>(axis_));
    push({at, at + 1, 1, 1});
  }
  void add_range(const Range& range) {
    out_.region.push_back(range.count);
    out_.shape.push_back(range.count);
    push(range);
  }
  void push(const Range& range) {
    out_.whole = out_.whole && range.start == 0 && range.step == 1 && range.count == next_size();
    out_.start.push_back(range.start);
    out_.stop.push_back(range.stop);
    out_.step.push_back(range.step);
    ++axis_;
  }

  const Shape& from_;
  Site site_;
  std::size_t axis_ = 0;
  std::int64_t first_ = -1;  // axis of the result where the first integer or tensor stands
  bool ended_ = false, apart_ = false, boolean_ = false;
  ResolvedIndex out_;
};

}  // namespace

ResolvedIndex resolve_index(const Shape& shape, std::span<const Index> indices, Site site) {
  std::size_t used = 0;
  int ellipses = 0;
  for (const Index& index : indices) {
    used += index.takes_axis();
    ellipses += index.kind() == Index::Kind::ellipsis;
  }
  if (used > shape.size()) fail_at(site, "index: {} indices for shape {}", used, to_string(shape));
  if (ellipses > 1) fail_at(site, "index: more than one ellipsis");
  Resolver resolver(shape, site);
  for (const Index& index : indices) resolver.add(index, shape.size() - used);
  resolver.add_whole(resolver.left());
  return resolver.take();
}

}  // namespace regrow
