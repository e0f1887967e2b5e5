// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>

#include "regrow/autograd/tape.h"
#include "regrow/frontend/call.h"
#include "regrow/frontend/tensor.h"

namespace regrow {
namespace {

Op region_op(std::string_view name, const ResolvedIndex& at, Site site) {
  return op(name, {{"start", at.start}, {"stop", at.stop}, {"step", at.step}, {"squeeze", at.squeeze}}, site);
}

bool is_mask(const Index& index, Site site) {
  return index.kind() == Index::Kind::tensor && index.tensor().dtype(site) == DType::boolean;
}

// Indices without masks: each gives way to the places, along each of its axes, where it is true.
struct Unmasked {
  std::deque<Tensor> places;  // what indices point to
  std::vector<Index> indices;
};

void unmask(Unmasked& to, const Index& index, Site site) {
  const Shape shape = index.tensor().shape(site);
  const Tensor mask = shape.empty() ? index.tensor().reshape({1}, site) : index.tensor();
  std::size_t axis = 0;
  for (Tensor& along : detail::call_many(op("nonzero"), {&mask}, site)) {
    to.places.push_back(std::move(along));
    to.indices.push_back(Index::of_mask(to.places.back(), shape.empty() ? Index::no_axis : shape[axis++], site));
  }
}

std::span<const Index> unmasked(std::span<const Index> indices, Unmasked& to, Site site) {
  if (std::none_of(indices.begin(), indices.end(), [&](const Index& index) { return is_mask(index, site); })) return indices;
  for (const Index& index : indices) {
    if (is_mask(index, site))
      unmask(to, index, site);
    else
      to.indices.push_back(index);
  }
  return to.indices;
}

// What slices and integers leave, with new axes.
Tensor basic_part(const Tensor& whole, const ResolvedIndex& at, Site site) {
  const Tensor region = at.whole ? whole : detail::call_one(region_op("slice", at, site), {&whole}, site);
  return at.shape == at.region ? region : region.reshape(at.shape, site);
}

Op indexed_op(std::string_view name, const ResolvedIndex& at, Site site) {
  return op(name, {{"axes", at.axes}, {"at", at.at}}, site);
}

Tensor take_indexed(const Tensor& x, const ResolvedIndex& at, Site site) {
  std::vector<const Tensor*> in = {&x};
  in.insert(in.end(), at.tensors.begin(), at.tensors.end());
  return detail::call_one(indexed_op("index_get", at, site), in, site);
}

// A value may have more axes than what it is assigned to, if they are of length 1.
Tensor with_rank_at_most(const Tensor& value, int rank, Site site) {
  Shape shape = value.shape(site);
  while (shape.rank() > rank && shape[0] == 1) shape.erase(0);
  return shape.rank() == value.rank(site) ? value : value.reshape(shape, site);
}

Tensor put_indexed(const Tensor& x, Tensor value, const ResolvedIndex& at, Site site) {
  value = with_rank_at_most(value, at.shape.rank() - at.axes.rank() + at.index_rank, site);
  std::vector<const Tensor*> in = {&x, &value};
  in.insert(in.end(), at.tensors.begin(), at.tensors.end());
  return detail::call_one(indexed_op("index_put", at, site), in, site);
}

// x with the parts where the mask is true replaced: by one value each, where there is an axis for that, or by the same.
Tensor put_masked(const Tensor& x, const Tensor& mask, Tensor value, Site site) {
  Shape spread = mask.shape(site), rest;
  const Shape whole = x.shape(site);
  bool fits = spread.size() <= whole.size();
  for (std::size_t i = 0; fits && i < spread.size(); ++i) fits = spread[i] == whole[i];
  if (!fits) fail_at(site, "index: the mask has shape {}, the tensor {}", to_string(spread), to_string(whole));
  for (std::size_t i = spread.size(); i < whole.size(); ++i) rest.push_back(whole[i]);
  value = with_rank_at_most(value, rest.rank(), site);
  if (value.rank(site) > rest.rank()) {
    rest.insert(0, value.shape(site)[0]);
    const Tensor values = detail::call_one(op("broadcast_to", {{"shape", rest}}), {&value}, site);
    return detail::call_one(op("masked_scatter"), {&x, &mask, &values}, site);
  }
  for (std::size_t i = spread.size(); i < whole.size(); ++i) spread.push_back(1);
  const Tensor places = mask.reshape(spread, site);
  return detail::call_one(op("where"), {&places, &value, &x}, site);
}

// `false` among the indices: nothing is read, whatever the rest says.
Tensor select_nothing(const Tensor& whole, const Shape& shape, Site site) {
  const Tensor flat = whole.reshape({-1}, site);
  const Tensor empty = detail::call_one(op("slice", {{"start", Dims{0}}, {"stop", Dims{0}}, {"step", Dims{1}}}), {&flat}, site);
  return empty.reshape(shape, site);
}

Site site_of(std::span<const Index> indices) { return indices.empty() ? Site{} : indices.front().site(); }

}  // namespace

Tensor Tensor::at(std::span<const Index> indices) const {
  const Site site = site_of(indices);
  if (indices.size() == 1 && indices[0].kind() == Index::Kind::tensor) {
    const Tensor& index = indices[0].tensor();
    if (is_mask(indices[0], site)) return detail::call_one(op("masked_select"), {this, &index}, site);
    return detail::call_one(op("take", {{"axis", std::int64_t{0}}}), {this, &index}, site);
  }
  Unmasked places;
  const ResolvedIndex at = resolve_index(shape(site), unmasked(indices, places, site), site);
  if (at.selects_none) return select_nothing(*this, at.shape, site);
  const Tensor part = basic_part(*this, at, site);
  return at.tensors.empty() ? part : take_indexed(part, at, site);
}

Item::Item(Tensor& whole, std::span<const Index> indices) : Tensor(whole.at(indices)), whole_(&whole), indices_(indices) {}

void Item::assign(const Operand& value) {
  const Site site = site_of(indices_);
  Tensor from = value.tensor() ? *value.tensor() : Tensor();
  static_cast<Tensor&>(*this) = Tensor();  // the old elements must not keep the new value from taking their place
  const DType dtype = whole_->dtype(site);
  if (value.tensor())
    from = from.astype(dtype, site);
  else
    from = Tensor(autograd::literal(value.literal(), dtype, whole_->device(site), site));

  if (indices_.size() == 1 && is_mask(indices_[0], site)) {
    *whole_ = put_masked(*whole_, indices_[0].tensor(), from, site);
    return;
  }
  Unmasked places;
  const ResolvedIndex at = resolve_index(whole_->shape(site), unmasked(indices_, places, site), site);
  if (at.selects_none) return;
  if (!at.tensors.empty()) {
    from = put_indexed(basic_part(*whole_, at, site), from, at, site);
    if (at.whole && at.shape == at.region) {
      *whole_ = from;
      return;
    }
  }
  from = with_rank_at_most(from, at.shape.rank(), site);
  // New axes are in the shape that is assigned to, but not in the region.
  if (at.shape != at.region) {
    const Tensor spread = detail::call_one(op("broadcast_to", {{"shape", at.shape}}), {&from}, site);
    from = spread.reshape(at.region, site);
  }
  *whole_ = detail::call_one(region_op("set_slice", at, site), {whole_, &from}, site);
}

void Item::operator=(const Operand& value) && { assign(value); }
void Item::operator=(const Item& value) && {
  assign(Operand(value, value.indices_.empty() ? Site{} : value.indices_.front().site()));
}

Item& Item::operator=(const Tensor& value) & {
  static_cast<Tensor&>(*this) = value;
  return *this;
}
Item& Item::operator=(const Item& value) & { return *this = static_cast<const Tensor&>(value); }

Item Tensor::operator[](const Index& index) & { return Item(*this, {&index, 1}); }
Item Tensor::operator[](std::initializer_list<Index> indices) & { return Item(*this, {indices.begin(), indices.size()}); }
Tensor Tensor::operator[](const Index& index) const& { return at({&index, 1}); }
Tensor Tensor::operator[](std::initializer_list<Index> indices) const& { return at({indices.begin(), indices.size()}); }
Tensor Tensor::operator[](const Index& index) && { return at({&index, 1}); }
Tensor Tensor::operator[](std::initializer_list<Index> indices) && { return at({indices.begin(), indices.size()}); }

}  // namespace regrow
