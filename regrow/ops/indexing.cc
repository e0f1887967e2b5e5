// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/indexing.h"

#include <algorithm>
#include <utility>

#include "regrow/kernels/convert.h"
#include "regrow/ops/shapes.h"
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

namespace {

// to[k] += step * index k, resolved.
void add_resolved(const View& indices, std::int64_t size, std::string_view op, std::size_t axis, std::int64_t step,
                  std::int64_t* to) {
  visit_type(indices.dtype(), [&]<class T>(Type<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const T* from = indices.as<const T>();
      walk<1>(indices.shape(), {indices.strides()}, [&](std::int64_t at) {
        const T index = from[at];
        const bool ok = std::cmp_less(index, size) && std::cmp_greater_equal(index, -size);
        if (!ok) fail_at(Site{}, "{}: index {} is out of range for axis {} of size {}", op, index, axis, size);
        *to++ += step * (static_cast<std::int64_t>(index) + (std::cmp_less(index, 0) ? size : 0));
      });
    }
  });
}

}  // namespace

void resolve_indices(const View& indices, std::int64_t size, std::string_view op, std::size_t axis, std::int64_t* to) {
  std::fill_n(to, indices.count(), std::int64_t{0});
  add_resolved(indices, size, op, axis, 1, to);
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

IndexedParts::IndexedParts(const Desc& x, const Dims& which, std::int64_t where, std::span<const Desc* const> indices) {
  require(!indices.empty() && which.size() == indices.size(), "{} axes are indexed by {} tensors", which.size(), indices.size());
  (void)Axes(which).resolve(x.shape.rank());  // throws on an axis out of range or named twice
  for (std::int64_t axis : which) axes.push_back(resolve_axis(axis, x.shape.rank()));
  for (const Desc* desc : indices) index = broadcast_shapes(index, desc->shape);
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end()) rest.push_back(x.shape[i]);
  require(where >= 0 && where <= rest.rank(), "the axes of the indices cannot begin at {} among {} others", where, rest.rank());
  at = static_cast<std::size_t>(where);
}

IndexedParts parts_along_axis(const Desc& x, const Desc& indices, const Attrs& attrs) {
  const auto axis = static_cast<std::int64_t>(axis_of(x, attrs));
  const Desc* all[] = {&indices};
  return IndexedParts(x, {axis}, axis, all);
}

Shape IndexedParts::region() const {
  Shape shape;
  for (std::size_t i = 0; i < at; ++i) shape.push_back(rest[i]);
  for (std::int64_t size : index) shape.push_back(size);
  for (std::size_t i = at; i < rest.size(); ++i) shape.push_back(rest[i]);
  return shape;
}

void IndexedParts::divide(const Strides& region, Strides& of_index, Strides& of_rest) const {
  for (std::size_t i = 0; i < region.size(); ++i) (i >= at && i < at + index.size() ? of_index : of_rest).push_back(region[i]);
}

void IndexedParts::locate(const View& x, std::span<const View> indices, std::string_view op, std::int64_t* offsets) const {
  std::fill_n(offsets, element_count(index), std::int64_t{0});
  for (std::size_t i = 0; i < indices.size(); ++i) {
    Desc all = *indices[i].desc;
    all.strides = broadcast_strides(all.shape, all.strides, index);
    all.shape = index;
    const auto axis = static_cast<std::size_t>(axes[i]);
    add_resolved({&all, indices[i].data}, x.shape()[axis], op, axis, x.strides()[axis], offsets);
  }
}

namespace {

// The strides in x of what is not indexed.
Strides rest_strides(const IndexedParts& parts, const Desc& x) {
  Strides strides;
  for (std::size_t i = 0; i < x.shape.size(); ++i)
    if (std::find(parts.axes.begin(), parts.axes.end(), static_cast<std::int64_t>(i)) == parts.axes.end()) strides.push_back(x.strides[i]);
  return strides;
}

}  // namespace

void take_parts(const IndexedParts& parts, const View& x, const std::int64_t* offsets, const View& region) {
  if (region.count() == 0) return;
  Strides of_index, of_rest;
  parts.divide(region.strides(), of_index, of_rest);
  const kernels::CopyPlan plan = kernels::plan_copy(parts.rest, rest_strides(parts, *x.desc), of_rest);
  visit_unit(x.dtype(), [&]<class Unit>(Type<Unit>) {
    walk<1>(parts.index, {of_index}, [&](std::int64_t at) {
      kernels::run_copy(plan, x.as<const Unit>() + *offsets++, region.as<Unit>() + at);
    });
  });
}

void put_parts(const IndexedParts& parts, const View& region, const std::int64_t* offsets, const View& x) {
  if (region.count() == 0) return;
  Strides of_index, of_rest;
  parts.divide(region.strides(), of_index, of_rest);
  const kernels::CopyPlan plan = kernels::plan_copy(parts.rest, of_rest, rest_strides(parts, *x.desc));
  visit_unit(x.dtype(), [&]<class Unit>(Type<Unit>) {
    walk<1>(parts.index, {of_index}, [&](std::int64_t at) {
      kernels::run_copy(plan, region.as<const Unit>() + at, x.as<Unit>() + *offsets++);
    });
  });
}

namespace {

template <class A, class T>
void add_parts_as(const IndexedParts& parts, const View& region, const std::int64_t* offsets, const View& x) {
  Strides of_index, of_rest;
  parts.divide(region.strides(), of_index, of_rest);
  kernels::CopyPlan plan = kernels::plan_copy(parts.rest, of_rest, rest_strides(parts, *x.desc));
  const std::size_t last = plan.shape.size() - 1;
  const std::int64_t n = plan.shape[last], from_step = plan.from[last], to_step = plan.to[last];
  plan.shape.erase(last), plan.from.erase(last), plan.to.erase(last);
  walk<1>(parts.index, {of_index}, [&](std::int64_t at) {
    const T* from = region.as<const T>() + at;
    A* to = x.as<A>() + *offsets++;
    walk<2>(plan.shape, {plan.from, plan.to},
            [&](std::int64_t a, std::int64_t b) { add_elements(from + a, from_step, to + b, to_step, n); });
  });
}

}  // namespace

void add_parts(const IndexedParts& parts, const View& region, const std::int64_t* offsets, const View& x) {
  if (region.count() == 0) return;
  visit_type(region.dtype(), [&]<class T>(Type<T>) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      add_parts_as<float, T>(parts, region, offsets, x);
    else if constexpr (!std::is_same_v<T, bool>)
      add_parts_as<T, T>(parts, region, offsets, x);
  });
}

void check_addable(DType dtype) { require(dtype != DType::boolean, "bool cannot be added"); }

void check_scatter_dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  require_index_type(in[1]);
  require(in[0] == in[2], "the updates are {}, not {}", name_of(in[2]), name_of(in[0]));
  check_addable(in[0]);
  out[0] = in[0];
}

std::size_t scatter_workspace(const Desc& x, std::size_t index_bytes) {
  const std::size_t sums = adds_in_f32(x.dtype) ? static_cast<std::size_t>(x.count()) * sizeof(float) : 0;
  return padded(index_bytes) + sums;
}

void scatter(const ComputeCall& call, std::size_t index_bytes, void (*add)(const ComputeCall& call, const ScatterTarget& target)) {
  const View &x = call.in[0], &out = call.out[0];
  auto* indices = reinterpret_cast<std::int64_t*>(call.workspace.data());
  if (!adds_in_f32(x.dtype())) {
    kernels::copy(x, out);
    return add(call, {indices, out});
  }
  const Desc wide = Desc::dense(DType::f32, out.shape());
  const View sum{&wide, call.workspace.data() + padded(index_bytes)};
  kernels::convert(x, sum);
  add(call, {indices, sum});
  kernels::convert(sum, out);
}

Var counting(std::int64_t n, Var like) {
  const AttrArg attrs[] = {{"stop", Scalar(n)}, {"device", like.recorder->desc(like).device}};
  const OpRecord& record = record_of<"arange">();
  Var out;
  like.recorder->call(Op(record, Attrs(record.name, record.attributes, attrs)), {}, {}, {&out, 1});
  return out;
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
