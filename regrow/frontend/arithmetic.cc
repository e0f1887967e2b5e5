// SPDX-License-Identifier: Apache-2.0
#include "regrow/base/fixed_string.h"
#include "regrow/frontend/call.h"
#include "regrow/frontend/tensor.h"

namespace regrow {
namespace {

template <FixedString Name>
Tensor binary(const Operand& a, const Operand& b) {
  static const Op op = regrow::op(Name.view());
  return detail::call_weak(op, {&a, &b}, a.site());
}

template <FixedString Name>
Tensor unary(const Operand& a) {
  static const Op op = regrow::op(Name.view());
  return detail::call_weak(op, {&a}, a.site());
}

// For bool & | ^ ~ are logic.
void require_bool(const Operand& a, std::string_view symbol, Site site) {
  const bool ok = a.tensor() ? a.tensor()->dtype(site) == DType::boolean : a.literal().kind == Scalar::Kind::boolean;
  if (!ok) fail_at(site, "operator {} takes bool tensors", symbol);
}

template <FixedString Name>
Tensor logical(const Operand& a, const Operand& b, std::string_view symbol) {
  require_bool(a, symbol, a.site());
  require_bool(b, symbol, a.site());
  return binary<Name>(a, b);
}

}  // namespace

Tensor operator+(const Operand& a, const Operand& b) { return binary<"add">(a, b); }
Tensor operator-(const Operand& a, const Operand& b) { return binary<"subtract">(a, b); }
Tensor operator*(const Operand& a, const Operand& b) { return binary<"multiply">(a, b); }
Tensor operator/(const Operand& a, const Operand& b) { return binary<"divide">(a, b); }
Tensor operator%(const Operand& a, const Operand& b) { return binary<"remainder">(a, b); }
Tensor operator&(const Operand& a, const Operand& b) { return logical<"logical_and">(a, b, "&"); }
Tensor operator|(const Operand& a, const Operand& b) { return logical<"logical_or">(a, b, "|"); }
Tensor operator^(const Operand& a, const Operand& b) { return logical<"logical_xor">(a, b, "^"); }
Tensor operator==(const Operand& a, const Operand& b) { return binary<"equal">(a, b); }
Tensor operator!=(const Operand& a, const Operand& b) { return binary<"not_equal">(a, b); }
Tensor operator<(const Operand& a, const Operand& b) { return binary<"less">(a, b); }
Tensor operator<=(const Operand& a, const Operand& b) { return binary<"less_equal">(a, b); }
Tensor operator>(const Operand& a, const Operand& b) { return binary<"greater">(a, b); }
Tensor operator>=(const Operand& a, const Operand& b) { return binary<"greater_equal">(a, b); }
Tensor operator-(const Operand& a) { return unary<"negative">(a); }
Tensor operator~(const Operand& a) {
  require_bool(a, "~", a.site());
  return unary<"logical_not">(a);
}

Tensor& Tensor::operator+=(const Operand& other) { return *this = *this + other; }
Tensor& Tensor::operator-=(const Operand& other) { return *this = *this - other; }
Tensor& Tensor::operator*=(const Operand& other) { return *this = *this * other; }
Tensor& Tensor::operator/=(const Operand& other) { return *this = *this / other; }
Tensor& Tensor::operator%=(const Operand& other) { return *this = *this % other; }
Tensor& Tensor::operator&=(const Operand& other) { return *this = *this & other; }
Tensor& Tensor::operator|=(const Operand& other) { return *this = *this | other; }
Tensor& Tensor::operator^=(const Operand& other) { return *this = *this ^ other; }

void Item::operator+=(const Operand& other) && { assign(*this + other); }
void Item::operator-=(const Operand& other) && { assign(*this - other); }
void Item::operator*=(const Operand& other) && { assign(*this * other); }
void Item::operator/=(const Operand& other) && { assign(*this / other); }
void Item::operator%=(const Operand& other) && { assign(*this % other); }
void Item::operator&=(const Operand& other) && { assign(*this & other); }
void Item::operator|=(const Operand& other) && { assign(*this | other); }
void Item::operator^=(const Operand& other) && { assign(*this ^ other); }

}  // namespace regrow
