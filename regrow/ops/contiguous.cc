// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/contiguous.h"

#include "regrow/kernels/copy.h"

namespace regrow {

std::size_t contiguous_bytes(std::span<const Desc* const> in) {
  kernels::Workspace workspace;
  for (const Desc* desc : in)
    if (!desc->contiguous()) workspace.take(static_cast<std::size_t>(desc->count()) * size_of(desc->dtype));
  return workspace.used();
}

ContiguousInputs::ContiguousInputs(std::span<const View> in, std::span<std::byte> bytes) {
  require(in.size() <= most, "{} inputs are too many to copy", in.size());
  kernels::Workspace workspace(bytes);
  for (std::size_t i = 0; i < in.size(); ++i) {
    descs_[i] = *in[i].desc, data_[i] = in[i].data;
    if (in[i].contiguous()) continue;
    descs_[i] = Desc::dense(in[i].dtype(), in[i].shape(), in[i].desc->device);
    data_[i] = workspace.take(static_cast<std::size_t>(in[i].count()) * size_of(in[i].dtype()));
    kernels::copy(in[i], (*this)[i]);
  }
  rest_ = bytes.subspan(workspace.used());
}

}  // namespace regrow
