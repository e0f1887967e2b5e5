// SPDX-License-Identifier: Apache-2.0
// What index_get and index_put share: index tensors for several axes at once. Any thread.
#pragma once

#include "regrow/ops/indexing.h"
#include "regrow/ops/var.h"

namespace regrow {

// axes (which axis each index tensor indexes) and at (where in the result the axes of the indices begin).
std::vector<AttrSpec> index_attributes();

IndexedParts parts_of(const Desc& x, std::span<const Desc* const> indices, const Attrs& attrs);
IndexedParts parts_of(const Desc& x, std::span<const View> indices, const Attrs& attrs);
// Bytes of the offsets of all parts.
std::size_t offset_bytes(const Desc& x, std::span<const Desc* const> indices, const Attrs& attrs);

// An operation on `in` and the index tensors of the one whose gradient this is, its inputs from `first` on, with its attributes
// and these.
Var call_indexed(Gradient& g, const OpRecord& record, std::initializer_list<Var> in, std::size_t first,
                 std::initializer_list<AttrArg> attrs);
template <FixedString Name>
Var indexed(Gradient& g, std::initializer_list<Var> in, std::size_t first, std::initializer_list<AttrArg> attrs = {}) {
  return call_indexed(g, record_of<Name>(), in, first, attrs);
}

}  // namespace regrow
