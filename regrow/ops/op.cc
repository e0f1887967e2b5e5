// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/op.h"

#include <absl/container/flat_hash_map.h>
#include <fmt/format.h>

namespace regrow {
namespace {

void check_arity(const OpRecord& record, std::size_t count) {
  const std::size_t named = record.inputs.size();
  const bool ok = record.variadic() ? count >= named - 1 : count == named;
  require(ok, "takes {}{} inputs, not {}", record.variadic() ? "at least " : "", record.variadic() ? named - 1 : named, count);
}

Device common_device(std::span<const Desc* const> in) {
  for (const Desc* desc : in)
    if (desc->device != in[0]->device)  // not `require`, which would make the texts for every call
      fail("inputs are on different devices, {} and {}: use copy_to", to_string(in[0]->device), to_string(desc->device));
  return in.empty() ? Device{} : in[0]->device;
}

std::string describe(std::span<const Desc* const> in) {
  std::string text;
  for (const Desc* desc : in) text += (text.empty() ? "" : ", ") + to_string(*desc);
  return text;
}

void infer_outputs(const Op& op, std::span<const Desc* const> in, std::vector<OutDesc>& out) {
  const OpRecord& record = op.record();
  check_arity(record, in.size());
  Device device = common_device(in);
  for (const AttrSpec& spec : record.attributes)
    if (spec.type == AttrType::device && op.attrs().has(spec.name)) device = op.attrs().get<Device>(spec.name);
  bool known = true;
  for (const Desc* desc : in) known = known && desc->known;
  // Where the operation carries an object (a callback, a fused program), the object knows the number.
  require(known || !record.output_count || op.attrs().object(), "the number of outputs depends on an input whose shape is not known yet");
  const auto count = record.output_count ? static_cast<std::size_t>(record.output_count(in, op.attrs())) : record.outputs.size();

  DType in_dtypes_small[8], out_dtypes_small[8];
  std::vector<DType> in_dtypes_large, out_dtypes_large;
  std::span<DType> in_dtypes(in_dtypes_small, std::min<std::size_t>(in.size(), 8));
  std::span<DType> out_dtypes(out_dtypes_small, std::min<std::size_t>(count, 8));
  if (in.size() > 8) in_dtypes_large.resize(in.size()), in_dtypes = in_dtypes_large;
  if (count > 8) out_dtypes_large.resize(count), out_dtypes = out_dtypes_large;
  for (std::size_t i = 0; i < in.size(); ++i) in_dtypes[i] = in[i]->dtype;
  record.dtypes(in_dtypes, op.attrs(), out_dtypes);

  out.clear();
  for (std::size_t i = 0; i < count; ++i) out.emplace_back(Desc::unknown_shape(out_dtypes[i], device));
  if (!known) return;
  for (OutDesc& desc : out) desc.known = true;
  record.infer({in, op.attrs(), out});
}

}  // namespace

const OpRecord* find_op(std::string_view name) {
  static const auto* table = [] {
    auto* names = new absl::flat_hash_map<std::string_view, const OpRecord*>;
    for (const OpRecord& record : all_ops()) names->emplace(record.name, &record);
    return names;
  }();
  const auto found = table->find(name);
  return found == table->end() ? nullptr : found->second;
}

Op op(std::string_view name, std::initializer_list<AttrArg> attrs, Site site) {
  const OpRecord* record = find_op(name);
  if (!record) fail_at(site, "no operator is named '{}'", name);
  return Op(*record, Attrs(name, record->attributes, {attrs.begin(), attrs.size()}, {}, site));
}

void infer(const Op& op, std::span<const Desc* const> in, std::vector<OutDesc>& out) {
  try {
    infer_outputs(op, in, out);
  } catch (const Error& error) {
    const std::string& text = error.message();
    const std::string prefix = fmt::format("{}: ", op.name());
    throw Error(text.starts_with(prefix) ? text : fmt::format("{}{} (inputs: {})", prefix, text, describe(in)), Site{});
  }
}

void compute(const Op& op, std::span<const View> in, std::span<const View> out, RandomState random, std::span<std::byte> workspace) {
  const OpRecord& record = op.record();
  if (record.compute) return record.compute({in, out, op.attrs(), random, workspace});
  DType dtypes[kernels::max_tile_inputs] = {};
  for (std::size_t i = 0; i < in.size(); ++i) dtypes[i] = in[i].dtype();
  kernels::run_tile(record.tile({dtypes, in.size()}, op.attrs()), in, out[0]);
}

std::size_t workspace_bytes(const Op& op, std::span<const Desc* const> in, std::span<const Desc* const> out) {
  return op.record().workspace ? op.record().workspace({in, out, op.attrs()}) : 0;
}

Cost cost_of(const Op& op, std::span<const Desc* const> in, std::span<const Desc* const> out) {
  if (op.record().cost) return op.record().cost({in, out, op.attrs()});
  Cost cost;
  for (const Desc* desc : in) cost.bytes += static_cast<double>(desc->count()) * static_cast<double>(size_of(desc->dtype));
  for (const Desc* desc : out) {
    cost.bytes += static_cast<double>(desc->count()) * static_cast<double>(size_of(desc->dtype));
    cost.flops += static_cast<double>(desc->count());
  }
  return cost;
}

std::string signature(const OpRecord& record) {
  std::string text = std::string(record.name) + "(";
  std::string_view separator;
  for (std::string_view input : record.inputs) text += fmt::format("{}{}", separator, input), separator = ", ";
  if (!record.attributes.empty()) text += fmt::format("{}*", separator), separator = ", ";
  for (const AttrSpec& spec : record.attributes) {
    const bool required = spec.fallback.index() == 0 && !spec.optional;
    text += required ? fmt::format("{}{}", separator, spec.name) : fmt::format("{}{}={}", separator, spec.name, to_string(spec.fallback));
  }
  return text + ")";
}

}  // namespace regrow
