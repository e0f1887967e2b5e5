// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/program.h"

#include <fmt/format.h>

namespace regrow::fuzz {
namespace {

constexpr const char* kind_names[] = {"put", "apply", "callback", "export_import", "budget", "del", "drop", "swap_out", "swap_in",
                                      "get_value", "get_shape", "wait", "crowd", "sync", "seed"};

std::string list(const std::vector<Value>& values) {
  std::string text;
  for (Value value : values) text += fmt::format("{}%{}", text.empty() ? "" : ", ", value);
  return text;
}

}  // namespace

std::string to_string(const Program& program) {
  std::string text;
  int line = 0;
  for (const Step& step : program.steps) {
    std::string what = kind_names[static_cast<int>(step.kind)];
    if (step.kind == StepKind::apply) what = step.op;
    if (step.kind == StepKind::callback) what = fmt::format("callback#{}", static_cast<int>(step.callback));
    std::string attrs;
    for (const AttrArg& attr : step.attrs) attrs += fmt::format(" {}={}", attr.name, regrow::to_string(attr.value));
    if (step.kind == StepKind::put)
      attrs = fmt::format(" {}{} on {}", name_of(step.value.dtype()), regrow::to_string(step.value.shape()),
                          regrow::to_string(step.device));
    if (step.kind == StepKind::budget) attrs = fmt::format("{} on {}", step.bytes, regrow::to_string(step.device));
    text += fmt::format("{:4}: {}{}{}({}){}\n", line++, list(step.outputs), step.outputs.empty() ? "" : " = ", what,
                        list(step.inputs), attrs);
  }
  return text;
}

}  // namespace regrow::fuzz
