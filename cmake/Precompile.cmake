# SPDX-License-Identifier: Apache-2.0
# The standard headers that nearly every file reads, read once: of a typical file they are two thirds of what compiling it costs. Off in
# the preset `release`, where a file that includes too little is found.
option(REGROW_PRECOMPILED_HEADERS "Compile the headers that most files include once" OFF)
set(REGROW_COMMON_HEADERS <algorithm> <atomic> <functional> <memory> <span> <string> <variant> <vector>)
if(REGROW_PRECOMPILED_HEADERS AND CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache$")  # else ccache would not cache what uses them
  list(PREPEND CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros)
endif()

# The target reads them from the target `from`, which has the same flags, or reads them itself, and more.
#   regrow_precompile(<target> FROM <target> | HEADERS <header>...)
function(regrow_precompile target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "FROM" "HEADERS")
  if(NOT REGROW_PRECOMPILED_HEADERS)
    return()
  elseif(ARG_FROM AND NOT ARG_FROM STREQUAL target)
    target_precompile_headers(${target} REUSE_FROM ${ARG_FROM})
  else()
    target_precompile_headers(${target} PRIVATE ${REGROW_COMMON_HEADERS} ${ARG_HEADERS})
  endif()
endfunction()
