// SPDX-License-Identifier: Apache-2.0
// `regrow ops`: what can be computed, from the operators' own records.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "regrow/cli/commands.h"
#include "regrow/ops/op.h"

namespace regrow::cli {
namespace {

std::string_view first_sentence(std::string_view doc) {
  const std::size_t end = doc.find(". ");
  return end == std::string_view::npos ? doc : doc.substr(0, end + 1);
}

std::string_view words_of(Replay replay) {
  switch (replay) {
    case Replay::pure: return "may be recomputed";
    case Replay::seeded: return "may be recomputed from its random state";
    case Replay::never: return "is never recomputed";
  }
  return "";
}

// The result type for inputs of this type, empty if it is refused. Other inputs have the type that the operator's samples give
// them, or the same one.
std::string result_type(const OpRecord& record, DType dtype) {
  try {
    const Sample& sample = record.samples.front();
    const Attrs attrs(record.name, record.attributes, sample.attrs);
    std::vector<DType> in(sample.inputs.size(), dtype), out(record.outputs.size());
    if (sample.dtypes.size() == in.size()) {
      in = sample.dtypes;
      in.front() = dtype;
    }
    record.dtypes(in, attrs, out);
    return std::string(name_of(out.front()));
  } catch (const Error&) {
    return {};
  }
}

// "bool -> f32, i8 -> f32, f32" (types that give themselves stand alone).
std::string types_of(const OpRecord& record) {
  // Without samples: what it does comes with each call, as an object.
  if (!record.dtypes || record.inputs.empty() || record.samples.empty()) return {};
  std::string text;
  for (int i = 0; i < dtype_count; ++i) {
    const DType dtype = static_cast<DType>(i);
    const std::string result = result_type(record, dtype);
    if (result.empty()) continue;
    if (!text.empty()) text += ", ";
    text += result == name_of(dtype) ? result : fmt::format("{} -> {}", name_of(dtype), result);
  }
  return text;
}

std::string default_of(const AttrSpec& spec) {
  if (spec.optional) return "optional";
  if (spec.fallback.index() == 0) return "required";
  return "default " + to_string(spec.fallback);
}

std::string facts_of(const OpRecord& record) {
  std::string text = fmt::format("{}; {}", record.gradient ? "differentiable" : "not differentiable", words_of(record.replay));
  if (record.tile) text += "; elementwise, fuses with its neighbours";
  if (record.fails_by_value) text += "; may fail because of values";
  return text;
}

std::string description(const OpRecord& record) {
  std::string text = fmt::format("{}\n\n{}\n", signature(record), record.doc);
  if (!record.attributes.empty()) text += "\nattributes\n";
  for (const AttrSpec& spec : record.attributes) {
    text += fmt::format("  {:<12} {} ({}){}{}\n", spec.name, name_of(spec.type), default_of(spec), spec.doc.empty() ? "" : ": ",
                        spec.doc);
  }
  const std::string types = types_of(record);
  if (!types.empty()) text += fmt::format("\ntypes   {}\n", types);
  return text + fmt::format("{}family  {}\nfacts   {}\n", types.empty() ? "\n" : "", record.family, facts_of(record));
}

std::string listing() {
  std::string text;
  std::string_view family;
  for (const OpRecord& record : all_ops()) {
    if (record.family != family) text += fmt::format("{}{}\n", family.empty() ? "" : "\n", record.family);
    family = record.family;
    text += fmt::format("  {}\n      {}\n", signature(record), first_sentence(record.doc));
  }
  return text;
}

std::string markdown() {
  std::string text = "# Operators\n\nPrinted by `regrow ops --markdown` from the operators' records.\n";
  std::string_view family;
  for (const OpRecord& record : all_ops()) {
    if (record.family != family) text += fmt::format("\n## {}\n", record.family);
    family = record.family;
    text += fmt::format("\n### {}\n\n`{}`\n\n{}\n", record.name, signature(record), record.doc);
    if (!record.attributes.empty()) text += "\n| attribute | type | default | |\n|---|---|---|---|\n";
    for (const AttrSpec& spec : record.attributes) {
      text += fmt::format("| `{}` | {} | {} | {} |\n", spec.name, name_of(spec.type), default_of(spec), spec.doc);
    }
    const std::string types = types_of(record);
    text += fmt::format("\n{}{}{}.\n", types.empty() ? "" : "Types: ", types,
                        types.empty() ? facts_of(record) : ". " + facts_of(record));
  }
  return text;
}

void write_page(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  file << markdown();
  file.close();
  require(file.good(), "{}: cannot be written", path);
}

}  // namespace

Command add_ops(CLI::App& app) {
  struct Line {
    std::string name, page;
  };
  auto line = std::make_shared<Line>();
  CLI::App* command = app.add_subcommand("ops", "Operators, with signature and documentation");
  command->add_option("name", line->name, "Only this operator, in full")->type_name("NAME");
  command->add_option("--markdown", line->page, "Write the page of all operators to this file")->type_name("FILE");
  return [line] {
    if (!line->page.empty()) {
      write_page(line->page);
    } else if (line->name.empty()) {
      std::fputs(listing().c_str(), stdout);
    } else {
      const OpRecord* record = find_op(line->name);
      if (!record) throw UsageError(fmt::format("no operator is named '{}'; `regrow ops` lists them all", line->name));
      std::fputs(description(*record).c_str(), stdout);
    }
    return 0;
  };
}

}  // namespace regrow::cli
