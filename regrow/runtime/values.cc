// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/values.h"

#include "regrow/base/hash.h"

namespace regrow::runtime {

void Value::describe(const Desc& known) {
  desc = known;
  const std::size_t size = size_of(desc.dtype);
  const Extent extent = extent_of(desc.shape, desc.strides);
  offset = -extent.first * static_cast<std::int64_t>(size);
  storage_bytes = static_cast<std::size_t>(extent.count()) * size;
  whole = true;
  hash = 0;
}

void Value::describe_view(const Desc& known, std::int64_t elements, const Value& base) {
  desc = known;
  const auto size = static_cast<std::int64_t>(size_of(desc.dtype));
  const Extent extent = extent_of(desc.shape, desc.strides);
  offset = base.offset + elements * size;
  storage_bytes = base.storage_bytes;
  root = base.root;
  whole = offset + extent.first * size == 0 && extent.count() * size == static_cast<std::int64_t>(storage_bytes);
  hash = 0;
}

std::uint64_t Value::shape_hash() noexcept {
  if (hash == 0) hash = hash_combine(static_cast<std::uint64_t>(desc.dtype), hash_of(desc.shape));
  return hash;
}

Value* ValuePool::create() {
  Value* value = free_;
  if (value) free_ = value->next_free;
  else value = &values_.emplace_back();
  value->references = 1;
  value->error = 0;
  value->hash = 0;
  return value;
}

machine::Payload OperationTable::create() {
  if (free_.empty()) {
    operations_.emplace_back();
    if (free_.capacity() < operations_.size()) free_.reserve(2 * operations_.size());
    return static_cast<machine::Payload>(operations_.size() - 1);
  }
  const machine::Payload payload = free_.back();
  free_.pop_back();
  return payload;
}

void OperationTable::retire(machine::Payload payload) noexcept {
  Operation& operation = operations_[payload];
  for (Value* value : operation.inputs) values_.release(value);
  for (Value* value : operation.outputs) values_.release(value);
  operation.inputs.resize(0);
  operation.outputs.resize(0);
  operation.op.reset();
  operation.returned.clear();
  free_.push_back(payload);
}

}  // namespace regrow::runtime
