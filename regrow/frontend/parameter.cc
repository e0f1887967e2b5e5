// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/parameter.h"

#include <absl/container/flat_hash_map.h>

#include "regrow/autograd/tape.h"

namespace regrow {
namespace detail {
namespace {

constinit thread_local Cloning* cloning = nullptr;

}  // namespace

struct Cloning::Map {
  absl::flat_hash_map<const void*, std::shared_ptr<void>> copies;
};

Cloning::Cloning() : map_(std::make_unique<Map>()), outer_(std::exchange(cloning, this)) {}
Cloning::~Cloning() { cloning = outer_; }
Cloning* Cloning::active() noexcept { return cloning; }

std::shared_ptr<void> Cloning::copy_of(const void* state) const {
  const auto found = map_->copies.find(state);
  return found == map_->copies.end() ? nullptr : found->second;
}

void Cloning::set_copy(const void* state, std::shared_ptr<void> copy) { map_->copies.emplace(state, std::move(copy)); }

}  // namespace detail

Parameter::Parameter(const Tensor& initial, Site site) : cell_(std::make_shared<Cell>(Cell{initial.requires_grad(site)})) {}

Parameter::Parameter(const Parameter& other) : cell_(other.cell_) {
  detail::Cloning* cloning = detail::Cloning::active();
  if (!cloning || !cell_) return;
  std::shared_ptr<void> copy = cloning->copy_of(cell_.get());
  if (!copy) {
    copy = std::make_shared<Cell>(Cell{cell_->leaf.requires_grad()});
    cloning->set_copy(cell_.get(), copy);
  }
  cell_ = std::static_pointer_cast<Cell>(copy);
}

const Parameter::Cell& Parameter::cell() const {
  require(cell_ != nullptr, "an empty parameter has no value");
  return *cell_;
}

Tensor Parameter::value() const { return cell().leaf; }

void Parameter::set_value(const Tensor& value, Site site) const {
  const autograd::Value& old = cell().leaf.traced();
  const auto before = old.known_desc(site), after = value.traced().known_desc(site);
  if (before->desc.shape != after->desc.shape || before->desc.dtype != after->desc.dtype)
    fail_at(site, "a parameter is a {}, its value cannot become a {}", to_string(before->desc), to_string(after->desc));
  cell_->leaf = Tensor(autograd::Value(value.traced().shared_handle(), old.edge()));
}

Tensor Parameter::grad() const { return cell().leaf.grad(); }
void Parameter::set_grad(const Tensor& grad) const { autograd::set_gradient(cell().leaf.traced(), grad.traced(), Site::here()); }
void Parameter::zero_grad() const { cell().leaf.zero_grad(); }

}  // namespace regrow
