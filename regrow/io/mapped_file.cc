// SPDX-License-Identifier: Apache-2.0
#include "regrow/io/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "regrow/base/error.h"

namespace regrow::io {
namespace {

[[noreturn]] void fail_errno(const std::filesystem::path& path, int code, Site site) {
  fail_at(site, "{}: {}", path.string(), std::generic_category().message(code));
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path, Site site) {
  // A pipe without a writer would block an open that blocks.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) fail_errno(path, errno, site);
  struct stat status {};
  if (::fstat(file.number, &status) != 0) fail_errno(path, errno, site);
  if (!S_ISREG(status.st_mode)) fail_at(site, "{}: not a regular file", path.string());
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.number, 0);
  if (mapped == MAP_FAILED) fail_errno(path, errno, site);
  data_ = static_cast<const std::byte*>(mapped);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace regrow::io
