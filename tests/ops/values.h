// SPDX-License-Identifier: Apache-2.0
// Values for tests of operators with numbers in them: made from lists, at random, in other layouts and types, and read back. On
// top of direct.h. One thread a value.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "regrow/tensor/walk.h"
#include "tests/ops/direct.h"

namespace regrow::testing {

struct Value : direct::Value {
  Value() = default;
  Value(direct::Value value) : direct::Value(std::move(value)) {}  // NOLINT

  // Elements row-major.
  template <class T>
  std::vector<T> to_vector() const {
    return direct::host(*this).to_vector<T>();
  }
  std::vector<double> to_doubles() const { return direct::numbers(direct::host(*this)); }
  std::vector<std::byte> to_bytes() const {
    const HostArray array = direct::host(*this);
    return {array.data(), array.data() + array.bytes()};
  }
};

// Throws what inference and the kernel throw.
inline std::vector<Value> run(const Op& op, const std::vector<Value>& in) {
  const std::vector<direct::Value> plain(in.begin(), in.end());
  const std::vector<direct::Value> out = direct::run(op, plain);
  return {out.begin(), out.end()};
}

template <class T>
Value value(const std::vector<T>& elements, const Shape& shape) {
  return direct::value_of(HostArray::from(elements, shape));
}

// The same elements under other strides, at `shift` bytes from where they would be put.
inline Value laid_out(const Value& from, const Strides& strides, std::size_t shift = 0) {
  const HostArray array = direct::host(from);
  direct::Value made = direct::value_of(array, strides);
  const auto offset = made.first - made.storage->data();
  made.storage->insert(made.storage->begin(), shift, std::byte{0});
  made.first = made.storage->data() + offset + shift;
  return made;
}

// The same numbers in another type; integers are truncated.
inline Value as_dtype(const Value& from, DType dtype) {
  std::byte* element = nullptr;
  const HostArray array = HostArray::uninitialized(dtype, from.desc.shape, &element);
  for (double x : from.to_doubles()) {
    write_scalar(is_floating(dtype) ? Scalar(x) : Scalar(static_cast<std::int64_t>(x)), dtype, element);
    element += size_of(dtype);
  }
  return direct::value_of(array);
}

// Numbers in [low, high), the same for a seed.
inline Value random_value(DType dtype, const Shape& shape, unsigned seed, double low = -1, double high = 1) {
  std::mt19937_64 bits(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> elements(static_cast<std::size_t>(element_count(shape)));
  for (double& x : elements) x = uniform(bits);
  return as_dtype(value(elements, shape), dtype);
}

using direct::error_of;

}  // namespace regrow::testing
