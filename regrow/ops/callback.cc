// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/callback.h"

namespace regrow {

std::vector<HostArray> CallbackObject::call(std::span<const HostArray> in, std::span<const Desc* const> promised) const {
  std::vector<HostArray> out = function_(in);
  require(out.size() == promised.size(), "callback {}: returned {} values, not {}", name_, out.size(), promised.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Desc& desc = *promised[i];
    const bool ok = out[i].dtype() == desc.dtype && (!desc.known || out[i].shape() == desc.shape);
    require(ok, "callback {}: value {} is {}{}, not {}", name_, i, to_string(out[i].dtype()), to_string(out[i].shape()),
            to_string(desc));
  }
  return out;
}

}  // namespace regrow
