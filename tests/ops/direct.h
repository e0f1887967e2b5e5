// SPDX-License-Identifier: Apache-2.0
// Runs one operator on memory of the test's own, without a channel: what every test of an operator stands on. One thread.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "regrow/ops/op.h"
#include "regrow/tensor/host_array.h"

namespace regrow::direct {

// A tensor with its storage; copies share it. The storage has guard bytes at both ends.
struct Value {
  Desc desc;
  std::shared_ptr<std::vector<std::byte>> storage;
  std::byte* first = nullptr;  // element at index 0

  View view() const { return {&desc, first}; }
};

// New storage for a descriptor, every byte `fill`.
Value allocate(const Desc& desc, std::byte fill = std::byte{0xa5});
// The array row-major, or laid out by these strides (where a stride is 0, the elements along that axis are equal).
Value value_of(const HostArray& array, Device device = {});
Value value_of(const HostArray& array, const Strides& strides, Device device = {});
HostArray host(const Value& value);

struct Options {
  RandomState random = {};
  std::byte fill{0xa5};  // what outputs and workspace hold before the kernel runs
  int in_place = -1;     // index of the input whose storage output 0 takes over
};

// Infers, measures where shapes depend on values, makes views or computes. Checks on the way (throws std::logic_error): the
// guards, that inputs keep their bytes, that what is inferred is well formed. Throws what infer and compute throw.
std::vector<Value> run(const Op& op, std::span<const Value> in, const Options& options = {});
inline std::vector<Value> run(const Op& op, std::initializer_list<Value> in, const Options& options = {}) {
  return run(op, std::span<const Value>(in.begin(), in.size()), options);
}

// On row-major arrays: all outputs, or the first.
std::vector<HostArray> call_all(const Op& op, std::span<const HostArray> in, const Options& options = {});
inline HostArray call(const Op& op, std::initializer_list<HostArray> in, const Options& options = {}) {
  return call_all(op, std::span<const HostArray>(in.begin(), in.size()), options).at(0);
}

// Descriptors of the outputs, from those of the inputs alone.
std::vector<OutDesc> infer_from(const Op& op, std::initializer_list<Desc> in);

// The same type, shape and bytes.
bool same_bits(const HostArray& a, const HostArray& b);
// The message of the Error that `body` throws; empty if it throws none.
template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return {};
}

// {1.f, 2.f} as an array of any element type: array<float>({2}, {1, 2}).
template <class T>
HostArray array(const Shape& shape, const std::vector<double>& values) {
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<bool> converted;
    for (double value : values) converted.push_back(value != 0);
    return HostArray::from(converted, shape);
  } else {
    std::vector<T> converted;
    for (double value : values) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        converted.push_back(T(static_cast<float>(value)));
      else
        converted.push_back(static_cast<T>(value));
    }
    return HostArray::from(converted, shape);
  }
}
using HostArrays = std::vector<HostArray>;

// The elements as doubles, row-major.
std::vector<double> numbers(const HostArray& array);

}  // namespace regrow::direct
