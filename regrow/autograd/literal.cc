// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>

#include "regrow/autograd/tape.h"
#include "regrow/base/hash.h"
#include "regrow/engine/default_channel.h"
#include "regrow/runtime/channel.h"

namespace regrow::autograd {
namespace {

struct Remembered {
  Scalar scalar;
  DType dtype = DType::f32;
  Device device;
  std::uint64_t failed_puts = 0;  // of the channel, when this one was made
  Value value;
};

// Direct-mapped: programs use few literals, over and over.
thread_local std::array<Remembered, 64> remembered;

HostArray element_of(const Scalar& scalar, DType dtype, Site site) {
  try {
    return HostArray::scalar(scalar, dtype);
  } catch (const Error& error) {  // it does not fit: that is the caller's line
    throw Error(error.message(), site);
  }
}

}  // namespace

Value literal(const Scalar& scalar, DType dtype, Device device, Site site) {
  const std::uint64_t hash = hash_combine(scalar.unsigned_integer, static_cast<std::uint64_t>(dtype));
  Remembered& entry = remembered[hash % remembered.size()];
  const std::uint64_t failed = default_channel().failed_puts();  // this one may be among them
  if (entry.value && entry.scalar == scalar && entry.dtype == dtype && entry.device == device && entry.failed_puts == failed)
    return entry.value;
  Value made(default_channel().put(element_of(scalar, dtype, site), {.device = device}, site));
  entry = {scalar, dtype, device, failed, made};
  return made;
}

}  // namespace regrow::autograd
