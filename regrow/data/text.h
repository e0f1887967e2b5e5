// SPDX-License-Identifier: Apache-2.0
// Text as a sequence of characters (Unicode code points): reading it, numbering its characters, batches for predicting the next
// one. Any thread; one thread an object.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "regrow/tensor/host_array.h"

namespace regrow::data {

// Throws Error naming the byte at which `bytes` cease to be UTF-8 (RFC 3629); `name` says where they come from.
std::u32string decode_utf8(std::string_view bytes, std::string_view name);
std::string encode_utf8(std::u32string_view text);

// The whole of a UTF-8 file, plain or gzipped.
std::u32string read_text(const std::filesystem::path& path);
// Where The Devil's Dictionary lies if Debian's package dict-devil is installed. Throws Error saying how to get it.
std::filesystem::path find_devils_dictionary();

// The characters that a model knows, numbered in the order of their code points.
class Vocabulary {
 public:
  Vocabulary() = default;
  explicit Vocabulary(std::u32string_view text);  // those that occur in it

  std::int64_t size() const noexcept { return static_cast<std::int64_t>(characters_.size()); }
  const std::u32string& characters() const noexcept { return characters_; }
  // Throws Error naming a character that is not known.
  std::vector<std::int64_t> encode(std::u32string_view text) const;
  char32_t operator[](std::int64_t index) const { return characters_.at(static_cast<std::size_t>(index)); }

 private:
  std::u32string characters_;  // ascending
};

struct TextBatch {
  HostArray inputs;   // i64 (batch, length)
  HostArray targets;  // i64 (batch, length): the character after each
};

struct TextOptions {
  std::int64_t batch = 32;
  std::int64_t length = 128;
  std::uint64_t seed = 0;
  double held_out = 0.1;  // this part of the text, its end, is not learned from
};

// The text is cut into windows of `length`, at places that change with the epoch, and shuffled: what a batch holds is a function
// of (seed, epoch, index) alone.
class TextLoader {
 public:
  // Throws Error unless the sizes are positive and the text is long enough for one batch and one held-out window.
  TextLoader(std::u32string_view text, const Vocabulary& vocabulary, TextOptions options);

  std::int64_t batches() const noexcept { return batches_; }  // in an epoch
  TextBatch batch(std::int64_t epoch, std::int64_t index);
  // The held-out part, from its beginning; the last batch may hold fewer windows.
  std::int64_t held_out_batches() const noexcept { return (held_out_windows_ + options_.batch - 1) / options_.batch; }
  TextBatch held_out_batch(std::int64_t index) const;

 private:
  TextBatch gather(const std::vector<std::int64_t>& begins) const;

  TextOptions options_;
  std::vector<std::int64_t> indices_;
  std::int64_t learned_ = 0;  // characters that are learned from
  std::int64_t windows_ = 0, batches_ = 0, held_out_windows_ = 0;
  std::vector<std::uint32_t> order_;  // of arranged_
  std::int64_t arranged_ = -1;
};

}  // namespace regrow::data
