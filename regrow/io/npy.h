// SPDX-License-Identifier: Apache-2.0
// NumPy's format for one array (NEP 1, versions 1 to 3). Any thread.
#pragma once

#include <filesystem>

#include "regrow/base/site.h"
#include "regrow/tensor/host_array.h"

namespace regrow::io {

// Row-major, whatever order and byte order the file has. Throws Error on what is not such a file, on element types that we lack
// (complex, strings, objects), and unless the file is exactly as long as its shape says; before memory is taken for any element.
HostArray read_npy(const std::filesystem::path& path, Site site = Site::here());
// Version 1, row-major, little-endian; atomically. Throws Error for bf16, which NumPy lacks.
void write_npy(const std::filesystem::path& path, const HostArray& array, Site site = Site::here());

}  // namespace regrow::io
