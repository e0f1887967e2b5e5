// SPDX-License-Identifier: Apache-2.0
#include "regrow/io/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "regrow/base/error.h"

namespace regrow::io {
namespace {

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

// Unlike mkstemp's, the file gets the permissions that the user's mask grants.
int create_beside(const std::filesystem::path& path, std::filesystem::path& temporary) {
  static std::atomic<unsigned> counter = 0;
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary = path;
    temporary += fmt::format(".{}-{}.tmp", ::getpid(), counter.fetch_add(1));
    const int file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

}  // namespace

AtomicFile::AtomicFile(std::filesystem::path path, Site site) : path_(std::move(path)), site_(site) {
  if (!path_.has_filename()) fail_at(site, "'{}' does not name a file", path_.string());
  file_ = create_beside(path_, temporary_);
  if (file_ < 0) fail_errno(errno);
}

AtomicFile::~AtomicFile() {
  if (file_ >= 0) ::close(file_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::fail_errno(int code) const {
  fail_at(site_, "{}: cannot be written: {}", path_.string(), std::generic_category().message(code));
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_, bytes.data(), std::min<std::size_t>(bytes.size(), std::size_t{1} << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_errno(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void AtomicFile::commit() {
  if (::fsync(file_) != 0) fail_errno(errno);
  if (::close(std::exchange(file_, -1)) != 0) fail_errno(errno);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail_errno(errno);
  temporary_.clear();
  const int folder = ::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail_errno(errno);
  const int flushed = ::fsync(folder);
  const int reason = errno;
  ::close(folder);
  // Some file systems cannot flush a folder; the file is complete under its name nevertheless.
  if (flushed != 0 && reason != EINVAL && reason != ENOTSUP) fail_errno(reason);
}

}  // namespace regrow::io
