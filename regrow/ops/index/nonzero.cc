// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "regrow/ops/op.h"
#include "regrow/tensor/visit.h"
#include "regrow/tensor/walk.h"

namespace regrow::ops {
namespace {

template <class T>
bool is_nonzero(T x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return (x.bits & 0x7fff) != 0;
  else
    return x != T{0};
}

void measure(std::span<const View> in, const Attrs&, std::span<OutDesc> out) {
  std::int64_t count = 0;
  visit_type(in[0].dtype(), [&]<class T>(Type<T>) {
    const T* x = in[0].as<const T>();
    walk<1>(in[0].shape(), {in[0].strides()}, [&](std::int64_t at) { count += is_nonzero(x[at]); });
  });
  for (OutDesc& desc : out) {
    desc.shape = {count};
    desc.strides = {1};
    desc.known = true;
  }
}

void compute(const ComputeCall& call) {
  const View& x = call.in[0];
  const Shape& shape = x.shape();
  const Strides row_major = contiguous_strides(shape);
  std::int64_t found = 0;
  visit_type(x.dtype(), [&]<class T>(Type<T>) {
    const T* elements = x.as<const T>();
    walk<2>(shape, {x.strides(), row_major}, [&](std::int64_t at, std::int64_t index) {
      if (!is_nonzero(elements[at])) return;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        call.out[axis].as<std::int64_t>()[found] = index / row_major[axis];
        index %= row_major[axis];
      }
      ++found;
    });
  });
}

}  // namespace

OpDef nonzero() {
  return {
      .doc =
          "Where x is not zero (NaN is not zero): for each axis a vector of i64 indices, in row-major order. How many there "
          "are is known when the operation has run.",
      .inputs = {"x"},
      .output_count =
          [](std::span<const Desc* const> in, const Attrs&) {
            require(!in[0]->shape.empty(), "x has no axes to index");
            return in[0]->shape.rank();
          },
      .dtypes = [](std::span<const DType>, const Attrs&, std::span<DType> out) { std::fill(out.begin(), out.end(), DType::i64); },
      .infer =
          [](const InferCall& call) {
            for (OutDesc& desc : call.out) desc.known = false;
          },
      .measure = measure,
      .compute = compute,
      .samples = {{.inputs = {{3, 4}}, .low = 0}, {.inputs = {{5}}, .low = 0}, {.inputs = {{2, 0, 3}}}, {.inputs = {{2, 3, 2}}}},
  };
}

}  // namespace regrow::ops
