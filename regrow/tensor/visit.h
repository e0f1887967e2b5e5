// SPDX-License-Identifier: Apache-2.0
// From an element type known at run time to the C++ type: one place for the switch over all 13. Any thread.
#pragma once

#include <cstdint>
#include <utility>

#include "regrow/tensor/dtype.h"
#include "regrow/tensor/half.h"

namespace regrow {

template <class T>
struct Type {
  using type = T;
};

// Returns body(Type<T>{}) for the T that stores elements of `dtype`.
template <class Body>
decltype(auto) visit_type(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::boolean: return body(Type<bool>{});
    case DType::i8: return body(Type<std::int8_t>{});
    case DType::i16: return body(Type<std::int16_t>{});
    case DType::i32: return body(Type<std::int32_t>{});
    case DType::i64: return body(Type<std::int64_t>{});
    case DType::u8: return body(Type<std::uint8_t>{});
    case DType::u16: return body(Type<std::uint16_t>{});
    case DType::u32: return body(Type<std::uint32_t>{});
    case DType::u64: return body(Type<std::uint64_t>{});
    case DType::f16: return body(Type<Half>{});
    case DType::bf16: return body(Type<BFloat16>{});
    case DType::f32: return body(Type<float>{});
    case DType::f64: return body(Type<double>{});
  }
  __builtin_unreachable();
}

// The same for the unsigned type of an element's size: for code that only moves elements.
template <class Body>
decltype(auto) visit_unit(DType dtype, Body&& body) {
  switch (size_of(dtype)) {
    case 1: return body(Type<std::uint8_t>{});
    case 2: return body(Type<std::uint16_t>{});
    case 4: return body(Type<std::uint32_t>{});
    default: return body(Type<std::uint64_t>{});
  }
}

}  // namespace regrow
