// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/shapes.h"

#include <utility>

#include "regrow/tensor/format.h"
#include "regrow/tensor/visit.h"

namespace regrow {
namespace {

// False if the product does not fit.
bool count_fits(const Shape& shape, std::int64_t& count) {
  count = 1;
  for (std::int64_t size : shape)
    if (size == 0) return count = 0, true;
  for (std::int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count)) return false;
  return true;
}

}  // namespace

void check_sizes(const Shape& shape) {
  for (std::int64_t size : shape) require(size >= 0, "a shape may not be negative: {}", shape);
  std::int64_t count = 0;
  require(count_fits(shape, count), "the shape {} has too many elements", shape);
}

Shape filled_shape(const Shape& wanted, std::int64_t count) {
  Shape shape = wanted;
  std::int64_t* open = nullptr;
  for (std::int64_t& size : shape) {
    require(size >= -1, "a shape may not be negative: {}", wanted);
    if (size != -1) continue;
    require(open == nullptr, "only one size may be -1: {}", wanted);
    open = &size;
  }
  if (open) *open = 1;
  std::int64_t product = 0;
  bool fills = count_fits(shape, product);
  if (open) {
    fills = fills && product != 0 && count % product == 0;  // (0, -1) is refused: any size would do
    if (fills) *open = count / product;
  } else {
    fills = fills && product == count;
  }
  require(fills, "{} elements do not fill {}", count, wanted);
  return shape;
}

Strides strides_broadcast_to(const Desc& x, const Shape& to) {
  check_sizes(to);
  bool ok = x.shape.size() <= to.size();
  const std::size_t shift = to.size() - x.shape.size();
  for (std::size_t i = 0; ok && i < x.shape.size(); ++i) ok = x.shape[i] == 1 || x.shape[i] == to[i + shift];
  require(ok, "{} does not broadcast to {}", x.shape, to);
  return broadcast_strides(x.shape, x.strides, to);
}

Shape shape_from_value(const View& value) {
  require(value.shape().size() == 1 && is_integer(value.dtype()), "a shape is a vector of integers, not {}", *value.desc);
  Shape shape;
  visit_type(value.dtype(), [&]<class T>(Type<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      for (std::int64_t i = 0; i < value.shape()[0]; ++i) {
        const T size = value.as<T>()[i * value.strides()[0]];
        require(std::in_range<std::int64_t>(size), "{} is too large for a size", size);
        shape.push_back(static_cast<std::int64_t>(size));
      }
    }
  });
  return shape;
}

AttrSpec axis_attr(std::int64_t fallback, std::string_view doc) { return {.name = "axis", .fallback = fallback, .doc = doc}; }

std::size_t axis_of(const Desc& x, const Attrs& attrs) {
  return static_cast<std::size_t>(resolve_axis(attrs.get<std::int64_t>("axis"), x.shape.rank()));
}

void infer_like(const Desc& x, OutDesc& out) {
  out.shape = x.shape;
  out.strides = dense_strides_like(x.shape, x.shape, x.strides);
}

void keep_dtype(std::span<const DType> in, const Attrs&, std::span<DType> out) { out[0] = in[0]; }

void common_dtype(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  for (DType dtype : in) require(dtype == in[0], "the element types differ: {} and {}", name_of(in[0]), name_of(dtype));
  if (!in.empty()) out[0] = in[0];  // infer says what is wrong with none
}

}  // namespace regrow
