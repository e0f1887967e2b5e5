// SPDX-License-Identifier: Apache-2.0
// Tensors for tests of kernels: any strides, guard bytes around the elements, and element-wise access.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "regrow/tensor/half.h"
#include "regrow/tensor/view.h"
#include "regrow/tensor/walk.h"

namespace regrow::testing {

class StridedTensor {
 public:
  StridedTensor(DType dtype, const Shape& shape, const Strides& strides)
      : desc_{dtype, {}, true, shape, strides}, extent_(extent_of(shape, strides)) {
    bytes_.assign(static_cast<std::size_t>(extent_.count()) * size() + 2 * guard, std::byte{0xa5});
  }
  StridedTensor(DType dtype, const Shape& shape) : StridedTensor(dtype, shape, contiguous_strides(shape)) {}
  template <class T>
  static StridedTensor of(const std::vector<T>& values) {
    StridedTensor tensor(dtype_of<T>(), {static_cast<std::int64_t>(values.size())});
    if (!values.empty()) std::memcpy(tensor.at(0), values.data(), values.size() * sizeof(T));
    return tensor;
  }

  const Desc& desc() const { return desc_; }
  std::size_t size() const { return size_of(desc_.dtype); }
  // Of the element `offset` elements from the one at index 0.
  std::byte* at(std::int64_t offset) { return bytes_.data() + guard + static_cast<std::size_t>(offset - extent_.first) * size(); }
  View view() { return {&desc_, at(0)}; }
  template <class T>
  std::vector<T> values() {
    std::vector<T> out;
    walk<1>(desc_.shape, {desc_.strides}, [&](std::int64_t offset) {
      T value;
      std::memcpy(&value, at(offset), sizeof value);
      out.push_back(value);
    });
    return out;
  }

  // Small whole numbers and halves, of both signs where the type has them; bool: 0 and 1.
  void randomize(std::mt19937& random) {
    walk<1>(desc_.shape, {desc_.strides}, [&](std::int64_t offset) {
      const int whole = static_cast<int>(random() % 17) - (is_signed(desc_.dtype) ? 8 : 0);
      Scalar value(whole);
      if (desc_.dtype == DType::boolean)
        value = Scalar(whole % 2 != 0);
      else if (is_floating(desc_.dtype))
        value = Scalar(whole / 2.0);
      write_scalar(value, desc_.dtype, at(offset));
    });
  }
  // Whether nothing outside the elements' extent was written.
  bool guards_intact() const {
    const auto untouched = [](std::byte b) { return b == std::byte{0xa5}; };
    return std::all_of(bytes_.begin(), bytes_.begin() + guard, untouched) &&
           std::all_of(bytes_.end() - guard, bytes_.end(), untouched);
  }

 private:
  static constexpr int guard = 256;
  Desc desc_;
  Extent extent_;
  std::vector<std::byte> bytes_;
};

// Strides of some permutation of the axes, with gaps, some of them negative; dense without gaps or negative ones on request.
inline Strides random_strides(const Shape& shape, std::mt19937& random, bool dense) {
  std::vector<std::size_t> order(shape.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  Strides strides = Dims::filled(shape.size(), 1);
  std::int64_t step = dense || random() % 2 ? 1 : 2;
  for (std::size_t axis : order) {
    strides[axis] = !dense && random() % 4 == 0 ? -step : step;
    step *= std::max<std::int64_t>(shape[axis], 1) + (!dense && random() % 4 == 0 ? 1 : 0);
  }
  return strides;
}

}  // namespace regrow::testing
