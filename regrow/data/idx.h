// SPDX-License-Identifier: Apache-2.0
// Reads IDX files, the format of MNIST and its kin (yann.lecun.com/exdb/mnist, "File formats"), plain or gzipped. Any thread.
#pragma once

#include <filesystem>

#include "regrow/tensor/host_array.h"

namespace regrow::data {

// The array in the file, whatever its element type (u8, i8, i16, i32, f32, f64) and rank; big-endian elements are turned round.
// Throws Error naming the file and what is wrong with it: missing, another format, truncated, longer than its header says,
// a gzip checksum that does not match. Nothing is allocated for sizes that the file cannot hold.
HostArray read_idx(const std::filesystem::path& path);

}  // namespace regrow::data
