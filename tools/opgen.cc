// SPDX-License-Identifier: Apache-2.0
// Prints the typed front door from the table of operators: regrow/ops.h, and the bodies of its functions.
//
// Inputs and required attributes are parameters; attributes with a default are members of an options struct, for designated
// initializers: sum(x, {.axis = 1}). Operators that only the engine, gradients or hand-written functions apply have none.
#include <fmt/format.h>

#include <array>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "regrow/ops/op.h"

namespace {

using regrow::AttrSpec;
using regrow::AttrType;
using regrow::OpRecord;

// Reached through functions written by hand: frontend/create.h, tensor.h, derived.h, loss.h, attention.h, optim.
// Reached through functions written by hand: frontend/create.h, tensor.h, derived.h, loss.h, attention.h, optim.
constexpr std::array hidden = {"full",     "arange", "slice",           "set_slice",                "split",
                               "callback", "fused",  "max_pool2d_take", "adaptive_max_pool2d_take", "cross_entropy",
                               "scaled_dot_product_attention"};

bool has_function(const OpRecord& op) {
  for (std::string_view name : hidden)
    if (op.name == name) return false;
  return !op.name.ends_with("_gradient") && !op.name.ends_with("_step") && !op.name.ends_with("_to_value");
}

bool required(const AttrSpec& spec) { return spec.fallback.index() == 0 && !spec.optional; }

std::string pascal(std::string_view snake) {
  std::string text;
  bool up = true;
  for (char c : snake) {
    if (c == '_') {
      up = true;
    } else {
      text += up ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
      up = false;
    }
  }
  return text;
}

std::string_view type_name(const AttrSpec& spec) {
  switch (spec.type) {
    case AttrType::boolean: return "bool";
    case AttrType::integer: return "std::int64_t";
    case AttrType::real: return "double";
    case AttrType::text: return "std::string";
    case AttrType::dtype: return "DType";
    case AttrType::dims: return spec.name == "shape" ? "Shape" : "Sizes";
    case AttrType::axes: return "Axes";
    case AttrType::device: return "Device";
    default: return "Scalar";
  }
}

std::string braced(const regrow::Dims& dims) {
  std::string text;
  for (std::int64_t size : dims) text += fmt::format("{}{}", text.empty() ? "" : ", ", size);
  return "{" + text + "}";
}

std::string initializer(const AttrSpec& spec) {
  const auto& value = spec.fallback;
  if (value.index() == 0) return "std::nullopt";
  switch (spec.type) {
    case AttrType::text: return fmt::format("\"{}\"", std::get<std::string>(value));
    case AttrType::dtype:
      return fmt::format("DType::{}", std::get<regrow::DType>(value) == regrow::DType::boolean
                                          ? "boolean"
                                          : name_of(std::get<regrow::DType>(value)));
    case AttrType::dims: return braced(std::get<regrow::Dims>(value));
    case AttrType::axes:
      return std::get<regrow::Axes>(value).all() ? "Axes()" : "Axes(Dims" + braced(std::get<regrow::Axes>(value).list()) + ")";
    case AttrType::device: return fmt::format("Device({})", std::get<regrow::Device>(value).index);
    case AttrType::real: return fmt::format("{}", std::get<double>(value));
    default: return to_string(value);
  }
}

struct Function {
  const OpRecord& op;
  bool weak = false;     // takes literals beside tensors
  bool options = false;  // has optional attributes

  explicit Function(const OpRecord& record) : op(record), weak(record.tile && record.inputs.size() > 1) {
    for (const AttrSpec& spec : op.attributes) options = options || !required(spec);
  }
  std::string options_type() const { return pascal(op.name) + "Options"; }

  std::string result() const {
    if (op.output_count) return "std::vector<Tensor>";
    return op.outputs.size() == 1 ? "Tensor" : fmt::format("std::array<Tensor, {}>", op.outputs.size());
  }

  std::string parameters(bool defaults) const {
    std::string text;
    for (std::string_view input : op.inputs) {
      if (input.ends_with("..."))
        text += fmt::format("const std::vector<Tensor>& {}, ", input.substr(0, input.size() - 3));
      else
        text += fmt::format("const {}& {}, ", weak ? "Operand" : "Tensor", input);
    }
    for (const AttrSpec& spec : op.attributes) {
      if (!required(spec)) continue;
      const bool by_value = spec.type == AttrType::boolean || spec.type == AttrType::integer || spec.type == AttrType::real ||
                            spec.type == AttrType::dtype || spec.type == AttrType::device;
      text += fmt::format(fmt::runtime(by_value ? "{} {}, " : "const {}& {}, "), type_name(spec), spec.name);
    }
    if (options) text += fmt::format("const {}& options{}, ", options_type(), defaults ? " = {}" : "");
    return text + (defaults ? "Site site = Site::here()" : "Site site");
  }
};

// The doc comment of a text, in lines of at most 120 columns.
std::string comment(std::string_view text) {
  std::string out, line = "//";
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    if (line.size() + space > 120) out += line + "\n", line = "//";
    line += " " + std::string(text.substr(0, space));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  return out + line + "\n";
}

void print_declaration(std::ostream& out, const Function& f) {
  if (f.options) {
    out << "struct " << f.options_type() << " {\n";
    for (const AttrSpec& spec : f.op.attributes) {
      if (required(spec)) continue;
      const std::string type =
          spec.fallback.index() == 0 ? fmt::format("std::optional<{}>", type_name(spec)) : std::string(type_name(spec));
      out << "  " << type << " " << spec.name << " = " << initializer(spec) << ";";
      if (!spec.doc.empty()) out << "  // " << spec.doc;
      out << "\n";
    }
    out << fmt::format("  friend bool operator==(const {0}&, const {0}&) = default;\n", f.options_type());
    out << "};\n";
  }
  out << comment(f.op.doc) << f.result() << " " << f.op.name << "(" << f.parameters(true) << ");\n\n";
}

// An expression of type AttrValue.
std::string attr_value(const AttrSpec& spec) {
  const std::string_view open = spec.type == AttrType::dims ? "Dims(" : "", close = spec.type == AttrType::dims ? ")" : "";
  if (required(spec)) return fmt::format("{}{}{}", open, spec.name, close);
  if (spec.fallback.index() != 0) return fmt::format("{}options.{}{}", open, spec.name, close);
  return fmt::format("options.{0} ? AttrValue({1}*options.{0}{2}) : AttrValue()", spec.name, open, close);
}

void print_op(std::ostream& out, const Function& f) {
  if (f.op.attributes.empty()) {
    out << fmt::format("  static const Op op = regrow::op(\"{}\");\n", f.op.name);
    return;
  }
  std::string types, values, args;
  for (const AttrSpec& spec : f.op.attributes) {
    if (required(spec)) {
      types += fmt::format("{}{}", types.empty() ? "" : ", ", type_name(spec));
      values += fmt::format("{}{}", values.empty() ? "" : ", ", spec.name);
    }
    args += fmt::format("{}{{\"{}\", {}}}", args.empty() ? "" : ", ", spec.name, attr_value(spec));
  }
  if (f.options) types += (types.empty() ? "" : ", ") + f.options_type(), values += values.empty() ? "options" : ", options";
  out << fmt::format("  using Key = std::tuple<{}>;\n", types);
  out << "  static thread_local detail::RememberedOp<Key> remembered;\n";
  out << fmt::format("  const Op& op = remembered.get(Key({}), [&] {{\n    return regrow::op(\"{}\", {{{}}}, site);\n  }});\n",
                     values, f.op.name, args);
}

void print_body(std::ostream& out, const Function& f) {
  out << f.result() << " " << f.op.name << "(" << f.parameters(false) << ") {\n";
  print_op(out, f);
  std::string inputs, first_list;
  for (std::string_view input : f.op.inputs) {
    if (input.ends_with("..."))
      first_list = input.substr(0, input.size() - 3);
    else
      inputs += fmt::format("{}&{}", inputs.empty() ? "" : ", ", input);
  }
  if (!first_list.empty()) {
    out << "  std::vector<const Tensor*> inputs = {" << inputs << "};\n";
    out << "  for (const Tensor& tensor : " << first_list << ") inputs.push_back(&tensor);\n";
  }
  const std::string given = first_list.empty() ? "{" + inputs + "}" : "inputs";
  if (f.op.output_count) {
    out << fmt::format("  return detail::call_many(op, {}, site);\n", given);
  } else if (f.op.outputs.size() == 1) {
    out << fmt::format("  return detail::{}(op, {}, site);\n", f.weak ? "call_weak" : "call_one", given);
  } else {
    out << fmt::format("  {} out;\n  detail::call_fixed(op, {}, out, site);\n  return out;\n", f.result(), given);
  }
  out << "}\n\n";
}

// Leaves an equal file alone, so that nothing is built anew for it.
bool write_if_changed(const char* path, const std::string& text) {
  std::ifstream old(path);
  if (old && std::string(std::istreambuf_iterator<char>(old), {}) == text) return true;
  std::ofstream out(path);
  out << text;
  return static_cast<bool>(out.flush());
}

bool write_header(const char* path) {
  std::ostringstream out;
  out << "// Generated from the table of operators. Do not edit.\n"
         "// Every operator as a typed function. Any thread. Errors of shapes and types are thrown by the call, with its line.\n"
         "#pragma once\n\n#include <array>\n#include <cstdint>\n#include <optional>\n#include <string>\n#include <vector>\n\n"
         "#include \"regrow/frontend/attention.h\"\n#include \"regrow/frontend/loss.h\"\n"
         "#include \"regrow/frontend/sizes.h\"\n#include \"regrow/frontend/tensor.h\"\n\nnamespace regrow {\n\n";
  for (const OpRecord& op : regrow::all_ops())
    if (has_function(op)) print_declaration(out, Function(op));
  out << "}  // namespace regrow\n";
  return write_if_changed(path, out.str());
}

bool write_bodies(const char* path) {
  std::ostringstream out;
  out << "// Generated from the table of operators. Do not edit.\n#include \"regrow/ops.h\"\n\n#include <tuple>\n\n"
         "#include \"regrow/frontend/call.h\"\n\nnamespace regrow {\n\n";
  for (const OpRecord& op : regrow::all_ops())
    if (has_function(op)) print_body(out, Function(op));
  out << "}  // namespace regrow\n";
  return write_if_changed(path, out.str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return write_header(argv[1]) && write_bodies(argv[2]) ? 0 : 1;
}
