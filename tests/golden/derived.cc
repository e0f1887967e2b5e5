// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/derived.h"

#include <map>

#include "regrow/frontend/derived.h"

namespace regrow::golden {
namespace {

using nlohmann::json;
using Tensors = std::vector<Tensor>;

Axes axes(const json& attrs) {
  if (!attrs.contains("axis")) return Axes();
  Dims list;
  for (const json& axis : attrs["axis"]) list.push_back(axis.get<std::int64_t>());
  return Axes(list);
}

std::optional<std::int64_t> axis_or_none(const json& attrs) {
  return attrs["axis"].is_null() ? std::nullopt : std::optional(attrs["axis"].get<std::int64_t>());
}

Sizes sizes(const json& from) {
  Dims list;
  for (const json& size : from) list.push_back(size.get<std::int64_t>());
  return list;
}

using Function = Tensors (*)(const Tensors& in, const json& attrs);

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> table = {
      {"clip", [](const Tensors& in, const json&) -> Tensors { return {clip(in[0], in[1], in[2])}; }},
      {"einsum", [](const Tensors& in, const json& a) -> Tensors { return {einsum(a["equation"].get<std::string>(), in)}; }},
      {"flip", [](const Tensors& in, const json& a) -> Tensors { return {flip(in[0], {.axis = axes(a)})}; }},
      {"log_sum_exp", [](const Tensors& in, const json& a) -> Tensors { return {log_sum_exp(in[0], {.axis = axes(a)})}; }},
      {"norm", [](const Tensors& in, const json& a) -> Tensors { return {norm(in[0], {.axis = axes(a)})}; }},
      {"outer", [](const Tensors& in, const json&) -> Tensors { return {outer(in[0], in[1])}; }},
      {"reflect_pad",
       [](const Tensors& in, const json& a) -> Tensors { return {reflect_pad(in[0], sizes(a["before"]), sizes(a["after"]))}; }},
      {"repeat",
       [](const Tensors& in, const json& a) -> Tensors { return {repeat(in[0], a["count"], {.axis = axis_or_none(a)})}; }},
      {"replicate_pad",
       [](const Tensors& in, const json& a) -> Tensors { return {replicate_pad(in[0], sizes(a["before"]), sizes(a["after"]))}; }},
      {"roll", [](const Tensors& in, const json& a) -> Tensors { return {roll(in[0], a["shift"], {.axis = axis_or_none(a)})}; }},
      {"split",
       [](const Tensors& in, const json& a) { return split(in[0], a["parts"].get<std::int64_t>(), {.axis = a["axis"]}); }},
      {"stack", [](const Tensors& in, const json& a) -> Tensors { return {stack(in, {.axis = a["axis"]})}; }},
      {"std",
       [](const Tensors& in, const json& a) -> Tensors {
         return {std(in[0], {.axis = axes(a), .correction = a["correction"]})};
       }},
      {"tile", [](const Tensors& in, const json& a) -> Tensors { return {tile(in[0], sizes(a["counts"]))}; }},
      {"tril", [](const Tensors& in, const json& a) -> Tensors { return {tril(in[0], a["offset"])}; }},
      {"triu", [](const Tensors& in, const json& a) -> Tensors { return {triu(in[0], a["offset"])}; }},
      {"var",
       [](const Tensors& in, const json& a) -> Tensors {
         return {var(in[0], {.axis = axes(a), .correction = a["correction"]})};
       }},
  };
  return table;
}

}  // namespace

bool call_derived(const std::string& name, const Tensors& in, const json& attrs, Tensors& out) {
  const auto found = functions().find(name);
  if (found == functions().end()) return false;
  out = found->second(in, attrs);
  return true;
}

}  // namespace regrow::golden
