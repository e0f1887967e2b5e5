// SPDX-License-Identifier: Apache-2.0
// A file that appears under its name complete, or not at all. One thread at a time.
//
// It is written beside its destination, flushed to the disk, and renamed over it; then the folder is flushed. Until commit()
// returns, who opens the name finds what was there before. A symbolic link of that name is replaced, not followed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "regrow/base/site.h"

namespace regrow::io {

class AtomicFile {
 public:
  // Throws Error if the file cannot be made in that folder.
  explicit AtomicFile(std::filesystem::path path, Site site = Site::here());
  ~AtomicFile();  // without commit(): nothing is left behind
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // Both throw Error with the system's reason.
  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  [[noreturn]] void fail_errno(int code) const;

  std::filesystem::path path_, temporary_;
  Site site_;
  int file_ = -1;
};

}  // namespace regrow::io
