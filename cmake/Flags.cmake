# SPDX-License-Identifier: Apache-2.0
# Language level and warnings for everything we compile ourselves; never exported to users.
add_library(regrow_flags INTERFACE)
target_compile_features(regrow_flags INTERFACE cxx_std_20)
target_compile_options(regrow_flags INTERFACE
  -Wall -Wextra -Wpedantic $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>  # clang has no =local
  -ffp-contract=off  # an element's bits depend on its operands alone: a*b+c rounds twice everywhere
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)  # gcc 12 warns falsely on "x" + std::string
