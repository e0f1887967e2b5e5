// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/tensor.h"

#include "regrow/autograd/tape.h"
#include "regrow/engine/default_channel.h"
#include "regrow/frontend/call.h"
#include "regrow/frontend/create.h"
#include "regrow/runtime/channel.h"

namespace regrow {

void Tensor::wait(Site site) const { default_channel().wait(handle(), site); }
HostArray Tensor::host(Site site) const { return default_channel().get_value(handle(), site); }
void Tensor::drop(Site site) const { default_channel().drop(handle(), true, site); }

Tensor Tensor::reshape(const Shape& shape, Site site) const {
  return detail::call_one(op("reshape", {{"shape", shape}}, site), {this}, site);
}

Tensor Tensor::reshape_to(const Tensor& shape, Site site) const {
  HostArray sizes;
  if (!default_channel().host_value(shape.handle(), sizes))
    return detail::call_one(op("reshape_to_value", {}, site), {this, &shape}, site);
  return reshape(detail::shape_from(sizes, site), site);
}

Tensor Tensor::astype(DType wanted, Site site) const {
  if (dtype(site) == wanted) return *this;
  return detail::call_one(op("cast", {{"dtype", wanted}}, site), {this}, site);
}

Tensor Tensor::requires_grad(Site site) const { return Tensor(autograd::make_leaf(value_, site)); }
Tensor Tensor::grad(Site site) const { return Tensor(autograd::gradient_of(value_, site)); }
void Tensor::zero_grad(Site site) const { autograd::set_gradient(value_, {}, site); }

}  // namespace regrow
