// SPDX-License-Identifier: Apache-2.0
#include "regrow/data/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "regrow/base/error.h"

namespace regrow::data {
namespace {

// Deflate never expands to more than 1,032 times its input: what a header claims beyond that is a lie.
constexpr std::uintmax_t most_expansion = 1032;

}  // namespace

ByteSource::ByteSource(const std::filesystem::path& path) : name_(path.string()) {
  std::error_code code;
  size_ = std::filesystem::file_size(path, code);
  if (!code) file_ = gzopen(name_.c_str(), "rb");
  const int reason = code ? code.value() : errno;
  require(file_ != nullptr, "{}: {}", name_, std::generic_category().message(reason));
  gzbuffer(file_, 1 << 18);
}

ByteSource::~ByteSource() { gzclose_r(file_); }

std::uintmax_t ByteSource::most_bytes() const { return gzdirect(file_) ? size_ : size_ * most_expansion; }

std::size_t ByteSource::read(std::byte* to, std::size_t wanted) {
  std::size_t done = 0;
  while (done < wanted) {
    const unsigned piece = static_cast<unsigned>(std::min<std::size_t>(wanted - done, 1 << 24));
    const int got = gzread(file_, to + done, piece);
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  int code = Z_OK;
  const char* text = gzerror(file_, &code);
  require(code == Z_OK || code == Z_BUF_ERROR, "{}: damaged gzip data: {}", name_, text);
  require(code != Z_BUF_ERROR, "{}: truncated: the gzip data ends too early", name_);
  return done;
}

}  // namespace regrow::data
