// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/several_indices.h"

namespace regrow {

std::vector<AttrSpec> index_attributes() {
  return {{.name = "axes",
           .type = AttrType::dims,
           .doc = "The axis that each index tensor indexes; negative ones count from the end."},
          {.name = "at", .fallback = std::int64_t{0}, .doc = "The axis of the result at which those of the indices begin."}};
}

IndexedParts parts_of(const Desc& x, std::span<const Desc* const> indices, const Attrs& attrs) {
  return IndexedParts(x, attrs.get<Dims>("axes"), attrs.get<std::int64_t>("at"), indices);
}

IndexedParts parts_of(const Desc& x, std::span<const View> indices, const Attrs& attrs) {
  const Desc* descs[max_rank] = {};
  for (std::size_t i = 0; i < indices.size(); ++i) descs[i] = indices[i].desc;
  return parts_of(x, {descs, indices.size()}, attrs);
}

std::size_t offset_bytes(const Desc& x, std::span<const Desc* const> indices, const Attrs& attrs) {
  return static_cast<std::size_t>(element_count(parts_of(x, indices, attrs).index)) * sizeof(std::int64_t);
}

Var call_indexed(Gradient& g, const OpRecord& record, std::initializer_list<Var> in, std::size_t first,
                 std::initializer_list<AttrArg> more) {
  std::vector<Var> all = in;
  for (std::size_t i = first; i < g.input_count(); ++i) all.push_back(g.in(i));
  std::vector<AttrArg> attrs = {{"axes", g.attrs().value("axes")}, {"at", g.attrs().value("at")}};
  attrs.insert(attrs.end(), more.begin(), more.end());
  Var out;
  g.recorder().call(Op(record, Attrs(record.name, record.attributes, attrs)), all, {}, {&out, 1});
  return out;
}

}  // namespace regrow
