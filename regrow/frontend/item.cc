// SPDX-License-Identifier: Apache-2.0
#include "regrow/autograd/tape.h"
#include "regrow/frontend/call.h"
#include "regrow/frontend/tensor.h"

namespace regrow {
namespace {

Op region_op(std::string_view name, const ResolvedIndex& at, Site site) {
  return op(name, {{"start", at.start}, {"stop", at.stop}, {"step", at.step}, {"squeeze", at.squeeze}}, site);
}

Tensor select(const Tensor& whole, const Tensor& index, Site site) {
  if (index.dtype(site) == DType::boolean) return detail::call_one(op("masked_select"), {&whole, &index}, site);
  return detail::call_one(op("take", {{"axis", std::int64_t{0}}}), {&whole, &index}, site);
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
  if (indices.size() == 1 && indices[0].kind() == Index::Kind::tensor) return select(*this, indices[0].tensor(), site);
  const ResolvedIndex at = resolve_index(shape(site), indices, site);
  if (at.selects_none) return select_nothing(*this, at.shape, site);
  const Tensor region = at.whole ? *this : detail::call_one(region_op("slice", at, site), {this}, site);
  return at.shape == at.region ? region : region.reshape(at.shape, site);
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

  if (indices_.size() == 1 && indices_[0].kind() == Index::Kind::tensor) {
    const Tensor& mask = indices_[0].tensor();
    if (mask.dtype(site) != DType::boolean)
      fail_at(site, "index: assignment through an index tensor is not supported: only through a mask");
    if (mask.shape(site) != whole_->shape(site))
      fail_at(site, "index: the mask has shape {}, the tensor {}", to_string(mask.shape(site)), to_string(whole_->shape(site)));
    *whole_ = detail::call_one(op("where"), {&mask, &from, whole_}, site);
    return;
  }
  const ResolvedIndex at = resolve_index(whole_->shape(site), indices_, site);
  if (at.selects_none) return;
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
