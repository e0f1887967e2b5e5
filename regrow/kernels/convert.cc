// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/convert.h"

#include "regrow/kernels/copy.h"
#include "regrow/tensor/half.h"
#include "regrow/tensor/walk.h"

namespace regrow::kernels {
namespace {

template <class F>
void with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::boolean: return f(bool{});
    case DType::i8: return f(std::int8_t{});
    case DType::i16: return f(std::int16_t{});
    case DType::i32: return f(std::int32_t{});
    case DType::i64: return f(std::int64_t{});
    case DType::u8: return f(std::uint8_t{});
    case DType::u16: return f(std::uint16_t{});
    case DType::u32: return f(std::uint32_t{});
    case DType::u64: return f(std::uint64_t{});
    case DType::f16: return f(Half{});
    case DType::bf16: return f(BFloat16{});
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
  }
}

template <class To, class From>
To as(From value) {
  constexpr bool short_from = std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>;
  constexpr bool short_to = std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>;
  if constexpr (short_from) {
    return as<To>(static_cast<float>(value));
  } else if constexpr (short_to) {
    return To(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace

void convert(const View& from, const View& to) {
  if (from.dtype() == to.dtype()) return copy(from, to);
  if (from.count() == 0) return;
  const CopyPlan plan = plan_copy(from.shape(), from.strides(), to.strides());
  with_type(from.dtype(), [&]<class From>(From) {
    with_type(to.dtype(), [&]<class To>(To) {
      const From* source = from.as<const From>();
      To* target = to.as<To>();
      walk<2>(plan.shape, {plan.from, plan.to}, [&](std::int64_t a, std::int64_t b) { target[b] = as<To>(source[a]); });
    });
  });
}

}  // namespace regrow::kernels
