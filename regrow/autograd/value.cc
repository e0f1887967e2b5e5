// SPDX-License-Identifier: Apache-2.0
#include "regrow/autograd/value.h"

#include "regrow/autograd/pool.h"
#include "regrow/engine/default_channel.h"
#include "regrow/runtime/channel.h"

namespace regrow::autograd {
namespace {

// Keeps the first descriptor that any thread found.
Shared<SharedDesc> keep(OwnedHandle& handle, const Desc& desc) {
  SharedDesc* made = Pool<SharedDesc>::make(desc);
  SharedDesc* kept = nullptr;
  if (!desc.known) return Shared<SharedDesc>::adopt(made);
  if (handle.desc.compare_exchange_strong(kept, made, std::memory_order_acq_rel)) return Shared<SharedDesc>::of(made);
  Pool<SharedDesc>::recycle(made);
  return Shared<SharedDesc>::of(kept);
}

}  // namespace

void release(SharedDesc* desc) noexcept { Pool<SharedDesc>::recycle(desc); }

void release(OwnedHandle* handle) noexcept {
  default_channel().del(handle->handle);
  Shared<SharedDesc>::adopt(handle->desc.load(std::memory_order_acquire)).reset();
  Pool<OwnedHandle>::recycle(handle);
}

Value::Value(Handle handle) : handle_(Shared<OwnedHandle>::adopt(Pool<OwnedHandle>::make(handle))) {}

Shared<SharedDesc> Value::desc_of(const Shared<OwnedHandle>& handle, Site site) {
  if (!handle) fail_at(site, "an empty tensor has no type and no shape");
  if (SharedDesc* known = handle->desc.load(std::memory_order_acquire)) return Shared<SharedDesc>::of(known);
  return keep(*handle, default_channel().get_desc(handle->handle, site));
}

Shared<SharedDesc> Value::known_desc_of(const Shared<OwnedHandle>& handle, Site site) {
  Shared<SharedDesc> desc = desc_of(handle, site);
  if (desc->desc.known) return desc;
  default_channel().get_shape(handle->handle, site);
  return desc_of(handle, site);
}

}  // namespace regrow::autograd
