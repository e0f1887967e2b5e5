// SPDX-License-Identifier: Apache-2.0
// What stands between the brackets of x[…], with NumPy's meaning: integers, slices, none, the ellipsis, booleans, index tensors.
// Any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "regrow/base/site.h"
#include "regrow/tensor/dims.h"

namespace regrow {

class Tensor;

// `rg::none`: an absent bound of a slice; as an index, a new axis of length 1.
struct None {};
inline constexpr None none;
// As many whole axes as are left.
struct Ellipsis {};
inline constexpr Ellipsis ellipsis;

struct Bound {
  std::optional<std::int64_t> value;
  constexpr Bound(None) {}  // NOLINT: `slice(1, rg::none)`
  template <std::integral T>
  constexpr Bound(T v) : value(static_cast<std::int64_t>(v)) {}  // NOLINT
};

// start, start + step, … before stop; negative bounds count from the end, bounds beyond it are cut (Python's rules).
struct Slice {
  Bound start = none, stop = none, step = none;
};
constexpr Slice slice(Bound start, Bound stop, Bound step = none) { return {start, stop, step}; }

class Index {
 public:
  enum class Kind : std::uint8_t { integer, slice, new_axis, ellipsis, boolean, tensor };

  template <std::integral T>
  Index(T i, Site site = Site::here())  // NOLINT: `x[1]`
      : kind_(std::is_same_v<T, bool> ? Kind::boolean : Kind::integer), integer_(static_cast<std::int64_t>(i)), site_(site) {}
  Index(const Slice& slice, Site site = Site::here()) : kind_(Kind::slice), slice_(slice), site_(site) {}  // NOLINT
  Index(None, Site site = Site::here()) : kind_(Kind::new_axis), site_(site) {}                            // NOLINT
  Index(Ellipsis, Site site = Site::here()) : kind_(Kind::ellipsis), site_(site) {}                        // NOLINT
  // Integers select along an axis, booleans the elements of as many axes as they have. Several tensors broadcast.
  Index(const Tensor& tensor, Site site = Site::here())
      : kind_(Kind::tensor), integer_(-1), tensor_(&tensor), site_(site) {}  // NOLINT
  // Where a mask is true along one of its axes, which was `size` long; a mask without axes is of a new axis, of length 1.
  static constexpr std::int64_t no_axis = -2;
  static Index of_mask(const Tensor& places, std::int64_t size, Site site) {
    Index index(places, site);
    index.integer_ = size;
    return index;
  }

  Kind kind() const noexcept { return kind_; }
  // Whether it stands for an axis of what is indexed.
  bool takes_axis() const noexcept {
    return kind_ == Kind::integer || kind_ == Kind::slice || (kind_ == Kind::tensor && integer_ != no_axis);
  }
  std::int64_t integer() const noexcept { return integer_; }
  std::int64_t mask_size() const noexcept { return kind_ == Kind::tensor ? integer_ : -1; }  // or no_axis; -1: not of a mask
  const Slice& slice() const noexcept { return slice_; }
  const Tensor& tensor() const noexcept { return *tensor_; }
  Site site() const noexcept { return site_; }

 private:
  Kind kind_;
  std::int64_t integer_ = 0;
  Slice slice_;
  const Tensor* tensor_ = nullptr;
  Site site_;
};

// Indices, resolved against a shape: attributes of the operators slice and set_slice, the shape with new axes, and which of its axes
// tensors of integers index.
struct ResolvedIndex {
  Dims start, stop, step, squeeze;
  Shape region;               // what slice gives
  Shape shape;                // the same with new axes
  bool whole = true;          // the slice is everything
  bool selects_none = false;  // `false` was among the indices: shape has an axis of length 0 that region lacks
  std::vector<const Tensor*> tensors;
  Dims axes;                  // of `shape`, that they index
  int index_rank = 0;         // of the tensors together
  std::int64_t at = 0;        // the axis of the result where theirs begin: the first, if something stands between them
};
ResolvedIndex resolve_index(const Shape& shape, std::span<const Index> indices, Site site);

}  // namespace regrow
