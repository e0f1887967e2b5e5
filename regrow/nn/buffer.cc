// SPDX-License-Identifier: Apache-2.0
#include "regrow/nn/buffer.h"

#include "regrow/base/error.h"
#include "regrow/frontend/parameter.h"

namespace regrow::nn {

Buffer::Buffer(const Tensor& initial) : cell_(std::make_shared<Tensor>(initial.detach())) {
  require(initial.defined(), "a buffer needs a value");
}

Buffer::Buffer(const Buffer& other) : cell_(other.cell_) {
  detail::Cloning* cloning = detail::Cloning::active();
  if (!cloning || !cell_) return;
  std::shared_ptr<void> copy = cloning->copy_of(cell_.get());
  if (!copy) {
    copy = std::make_shared<Tensor>(*cell_);
    cloning->set_copy(cell_.get(), copy);
  }
  cell_ = std::static_pointer_cast<Tensor>(copy);
}

Tensor Buffer::value() const {
  require(cell_ != nullptr, "an empty buffer has no value");
  return *cell_;
}

void Buffer::set_value(const Tensor& value, Site site) const {
  const autograd::Value old = this->value().traced();
  const auto before = old.known_desc(site), after = value.traced().known_desc(site);
  if (before->desc.shape != after->desc.shape || before->desc.dtype != after->desc.dtype)
    fail_at(site, "a buffer is a {}, its value cannot become a {}", to_string(before->desc), to_string(after->desc));
  *cell_ = value.detach();
}

}  // namespace regrow::nn
