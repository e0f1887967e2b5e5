# SPDX-License-Identifier: Apache-2.0
# An operator is a file: regrow/ops/<family>/<name>.cc defines regrow::ops::<name>(). This writes the table of them all.
function(regrow_op_table output)
  set(declarations "")
  set(entries "")
  set(index 0)
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM name)
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder FILENAME family)
    string(APPEND declarations "OpDef ${name}();\n")
    string(APPEND entries "      {ops::${name}(), \"${name}\", \"${family}\", ${index}},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT [=[
// Generated from the names of the files in regrow/ops. Do not edit.
#include "regrow/ops/op.h"

namespace regrow {
namespace ops {
@declarations@}  // namespace ops

std::span<const OpRecord> all_ops() {
  static const std::vector<OpRecord>& table = *new std::vector<OpRecord>{
@entries@  };
  return table;
}

}  // namespace regrow
]=])
endfunction()
