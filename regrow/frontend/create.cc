// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/create.h"

#include "regrow/autograd/tape.h"
#include "regrow/engine/default_channel.h"
#include "regrow/frontend/call.h"
#include "regrow/runtime/channel.h"

namespace regrow {
namespace {

Shape shape_of_literal(const std::vector<Literal>& items, Site site) {
  Shape shape = {static_cast<std::int64_t>(items.size())};
  if (items.empty() || !items[0].is_list()) return shape;
  for (std::int64_t size : shape_of_literal(items[0].items(), site)) shape.push_back(size);
  return shape;
}

// The elements row-major, checked against the shape of the first of each level.
void flatten(std::span<const Literal> items, const Shape& shape, std::size_t axis, std::vector<const Literal*>& out, Site site) {
  if (static_cast<std::int64_t>(items.size()) != shape[axis])
    fail_at(site, "tensor: a list has {} elements where the first has {}", items.size(), shape[axis]);
  const bool last = axis + 1 == shape.size();
  for (const Literal& item : items) {
    if (item.is_list() == last) fail_at(site, "tensor: lists are nested to different depths");
    if (last)
      out.push_back(&item);
    else
      flatten(item.items(), shape, axis + 1, out, site);
  }
}

template <class T>
std::int64_t element(const HostArray& array, std::int64_t i) {
  return static_cast<std::int64_t>(reinterpret_cast<const T*>(array.data())[i]);
}

std::int64_t read_integer(const HostArray& array, std::int64_t i) {
  switch (array.dtype()) {
    case DType::i8: return element<std::int8_t>(array, i);
    case DType::i16: return element<std::int16_t>(array, i);
    case DType::i32: return element<std::int32_t>(array, i);
    case DType::u8: return element<std::uint8_t>(array, i);
    case DType::u16: return element<std::uint16_t>(array, i);
    case DType::u32: return element<std::uint32_t>(array, i);
    default: return element<std::int64_t>(array, i);
  }
}

}  // namespace

Tensor tensor(std::initializer_list<Literal> values, const TensorOptions& options, Site site) {
  const std::vector<Literal> items(values);
  const Shape shape = shape_of_literal(items, site);
  std::vector<const Literal*> elements;
  flatten(items, shape, 0, elements, site);
  DType dtype = elements.empty() ? DType::f32 : elements[0]->dtype();
  for (const Literal* element : elements) dtype = promote(dtype, element->dtype());
  dtype = options.dtype.value_or(dtype);
  std::byte* bytes = nullptr;
  const HostArray array = HostArray::uninitialized(dtype, shape, &bytes);
  for (const Literal* element : elements) write_scalar(element->scalar(), dtype, bytes), bytes += size_of(dtype);
  return tensor(array, {.dtype = dtype, .device = options.device}, site);
}

Tensor tensor(const HostArray& value, const TensorOptions& options, Site site) {
  const Tensor made(autograd::Value(default_channel().put(value, {.device = options.device}, site)));
  return options.dtype ? made.astype(*options.dtype, site) : made;
}

Tensor zeros(const Shape& shape, const TensorOptions& options, Site site) {
  return detail::filled(shape, 0, options.dtype.value_or(DType::f32), options.device, site);
}

Tensor ones(const Shape& shape, const TensorOptions& options, Site site) {
  return detail::filled(shape, 1, options.dtype.value_or(DType::f32), options.device, site);
}

Tensor zeros_like(const Tensor& like, Site site) {
  return detail::filled(like.shape(site), 0, like.dtype(site), like.device(site), site);
}
Tensor ones_like(const Tensor& like, Site site) {
  return detail::filled(like.shape(site), 1, like.dtype(site), like.device(site), site);
}

namespace detail {

Tensor filled(const Shape& shape, const Scalar& value, DType dtype, Device device, Site site) {
  return call_one(op("full", {{"shape", shape}, {"value", value}, {"dtype", dtype}, {"device", device}}, site), {}, site);
}

Tensor range(const Scalar& start, const Scalar& stop, const Scalar& step, DType dtype, Device device, Site site) {
  return call_one(op("arange", {{"start", start}, {"stop", stop}, {"step", step}, {"dtype", dtype}, {"device", device}}, site),
                  {}, site);
}

Shape shape_from(const HostArray& sizes, Site site) {
  if (sizes.shape().size() != 1 || !is_integer(sizes.dtype()))
    fail_at(site, "a shape is a vector of integers, not {}", to_string(Desc::dense(sizes.dtype(), sizes.shape())));
  Shape shape;
  for (std::int64_t i = 0; i < sizes.count(); ++i) shape.push_back(read_integer(sizes, i));
  return shape;
}

}  // namespace detail
}  // namespace regrow
