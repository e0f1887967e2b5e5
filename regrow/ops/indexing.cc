// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/indexing.h"

#include <utility>

#include "regrow/kernels/convert.h"
#include "regrow/tensor/visit.h"
#include "regrow/tensor/walk.h"
#include "regrow/tensor/format.h"

namespace regrow {

void require_index_type(DType indices) { require(is_integer(indices), "indices are of integers, not {}", name_of(indices)); }

Along along(const Desc& desc, std::size_t axis) {
  Along result{desc, desc.shape[axis], desc.strides[axis]};
  result.rest.shape.erase(axis);
  result.rest.strides.erase(axis);
  return result;
}

void resolve_indices(const View& indices, std::int64_t size, std::string_view op, std::size_t axis, std::int64_t* to) {
  visit_type(indices.dtype(), [&]<class T>(Type<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const T* from = indices.as<const T>();
      walk<1>(indices.shape(), {indices.strides()}, [&](std::int64_t at) {
        const T index = from[at];
        const bool ok = std::cmp_less(index, size) && std::cmp_greater_equal(index, -size);
        if (!ok) fail_at(Site{}, "{}: index {} is out of range for axis {} of size {}", op, index, axis, size);
        *to++ = static_cast<std::int64_t>(index) + (std::cmp_less(index, 0) ? size : 0);
      });
    }
  });
}

std::size_t resolved_bytes(const Desc& indices) { return static_cast<std::size_t>(indices.count()) * sizeof(std::int64_t); }

void require_matching_axes(const Desc& x, const Desc& indices, std::size_t axis) {
  bool match = x.shape.size() == indices.shape.size();
  for (std::size_t i = 0; match && i < x.shape.size(); ++i) match = i == axis || x.shape[i] == indices.shape[i];
  require(match, "indices of shape {} do not match {} beside axis {}", indices.shape, x.shape, axis);
}

namespace {

bool adds_in_f32(DType dtype) { return dtype == DType::f16 || dtype == DType::bf16; }
std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

void check_scatter_dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  require_index_type(in[1]);
  require(in[0] == in[2], "the updates are {}, not {}", name_of(in[2]), name_of(in[0]));
  require(in[0] != DType::boolean, "bool cannot be added");
  out[0] = in[0];
}

std::size_t scatter_workspace(const CostCall& call) {
  const Desc& x = *call.in[0];
  const std::size_t sums = adds_in_f32(x.dtype) ? static_cast<std::size_t>(x.count()) * sizeof(float) : 0;
  return padded(resolved_bytes(*call.in[1])) + sums;
}

void scatter(const ComputeCall& call, void (*add)(const ComputeCall& call, const ScatterTarget& target)) {
  const View &x = call.in[0], &out = call.out[0];
  auto* indices = reinterpret_cast<std::int64_t*>(call.workspace.data());
  if (!adds_in_f32(x.dtype())) {
    kernels::copy(x, out);
    return add(call, {indices, out});
  }
  const Desc wide = Desc::dense(DType::f32, out.shape());
  const View sum{&wide, call.workspace.data() + padded(resolved_bytes(*call.in[1].desc))};
  kernels::convert(x, sum);
  add(call, {indices, sum});
  kernels::convert(sum, out);
}

void require_mask_fits(const Desc& x, const Desc& mask) {
  bool fits = mask.shape.size() <= x.shape.size();
  for (std::size_t i = 0; fits && i < mask.shape.size(); ++i) fits = mask.shape[i] == x.shape[i];
  require(fits, "a mask of shape {} does not match the leading axes of {}", mask.shape, x.shape);
}

std::int64_t count_true(const View& mask) {
  std::int64_t count = 0;
  const bool* flags = mask.as<const bool>();
  walk<1>(mask.shape(), {mask.strides()}, [&](std::int64_t at) { count += flags[at]; });
  return count;
}

MaskedParts::MaskedParts(const Desc& x, std::size_t mask_rank) {
  for (std::size_t i = 0; i < x.shape.size(); ++i) {
    if (i < mask_rank) {
      mask_strides.push_back(x.strides[i]);
    } else {
      rest.push_back(x.shape[i]);
      rest_strides.push_back(x.strides[i]);
    }
  }
}

}  // namespace regrow
