// SPDX-License-Identifier: Apache-2.0
#include "regrow/tensor/host_array.h"

#include "regrow/tensor/walk.h"

namespace regrow {

HostArray HostArray::uninitialized(DType dtype, const Shape& shape, std::byte** elements) {
  HostArray array;
  array.dtype_ = dtype;
  array.shape_ = shape;
  std::shared_ptr<std::byte[]> memory(new std::byte[std::max<std::size_t>(array.bytes(), 1)]);
  *elements = memory.get();
  array.elements_ = std::move(memory);
  return array;
}

HostArray HostArray::copy_of(DType dtype, const void* values, std::size_t count, const Shape& shape, Site site) {
  for (std::int64_t size : shape)
    if (size < 0) fail_at(site, "a shape may not be negative: {}", to_string(shape));
  if (static_cast<std::int64_t>(count) != element_count(shape))
    fail_at(site, "{} values do not fill the shape {}", count, to_string(shape));
  std::byte* elements = nullptr;
  HostArray array = uninitialized(dtype, shape, &elements);
  if (count != 0) std::memcpy(elements, values, array.bytes());
  return array;
}

HostArray HostArray::scalar(const Scalar& value, DType dtype) {
  std::byte* element = nullptr;
  HostArray array = uninitialized(dtype, {}, &element);
  write_scalar(value, dtype, element);
  return array;
}

HostArray HostArray::gather(const View& view) {
  std::byte* elements = nullptr;
  HostArray array = uninitialized(view.dtype(), view.shape(), &elements);
  copy_strided(view, elements);
  return array;
}

void HostArray::require_type(DType wanted, Site site) const {
  if (wanted != dtype_) fail_at(site, "the elements are {}, not {}", name_of(dtype_), name_of(wanted));
}

void HostArray::require_single(Site site) const {
  if (count() != 1) fail_at(site, "item() needs exactly one element, but the shape is {}", to_string(shape_));
}

}  // namespace regrow
