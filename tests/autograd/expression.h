// SPDX-License-Identifier: Apache-2.0
// Values of the tape with operators, so that the tests of this layer read like formulas.
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "regrow/autograd/backward.h"
#include "regrow/autograd/grad_mode.h"
#include "regrow/autograd/tape.h"
#include "regrow/engine/default_channel.h"
#include "regrow/ops/op.h"
#include "regrow/runtime/channel.h"

namespace regrow::autograd {

inline constexpr Site here{"test.cc", 1};

inline Value call(const Op& applied, std::initializer_list<Value> in, Site site = here) {
  std::vector<const Value*> inputs;
  for (const Value& value : in) inputs.push_back(&value);
  Value out;
  apply(applied, inputs, {&out, 1}, site);
  return out;
}
inline Value call(std::string_view name, std::initializer_list<Value> in, std::initializer_list<AttrArg> attrs = {}) {
  return call(op(name, attrs), in);
}

template <class T>
Value constant(const std::vector<T>& values, const Shape& shape) {
  return Value(default_channel().put(HostArray::from(values, shape)));
}
template <class T = double>
Value leaf(const std::vector<T>& values, const Shape& shape) {
  return make_leaf(constant(values, shape), here);
}

inline Value operator+(const Value& a, const Value& b) { return call("add", {a, b}); }
inline Value operator-(const Value& a, const Value& b) { return call("subtract", {a, b}); }
inline Value operator*(const Value& a, const Value& b) { return call("multiply", {a, b}); }
inline Value operator/(const Value& a, const Value& b) { return call("divide", {a, b}); }
inline Value operator*(const Value& a, double b) { return a * constant<double>({b}, {}); }
inline Value operator+(const Value& a, double b) { return a + constant<double>({b}, {}); }
inline Value total(const Value& x) { return call("sum", {x}); }

inline std::vector<double> numbers(const Value& value) { return default_channel().get_value(value.handle()).to_vector<double>(); }
inline Shape shape_of(const Value& value) { return value.known_desc(here)->desc.shape; }
inline std::vector<double> grad_of(const Value& leaf) { return numbers(gradient_of(leaf, here)); }

inline void run_backward(const Value& output, const PassOptions& options = {}) { backward({&output, 1}, {}, options, here); }
inline Value grad(const Value& output, const Value& input, const PassOptions& options = {}) {
  return gradients({&output, 1}, {&input, 1}, {}, options, here).at(0);
}

// The message of what `run` throws; empty if it throws nothing.
template <class F>
std::string message_of(F&& run) {
  try {
    run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace regrow::autograd
