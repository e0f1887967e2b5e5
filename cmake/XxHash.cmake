# SPDX-License-Identifier: Apache-2.0
# xxhash::xxhash; Debian's libxxhash-dev brings no package file for CMake. Read by our build and by those who use the installed package.
if(NOT TARGET xxhash::xxhash)
  find_library(XXHASH_LIBRARY xxhash REQUIRED)
  find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
  add_library(xxhash::xxhash UNKNOWN IMPORTED)
  set_target_properties(xxhash::xxhash PROPERTIES
    IMPORTED_LOCATION ${XXHASH_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${XXHASH_INCLUDE_DIR})
endif()
