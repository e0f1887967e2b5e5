// SPDX-License-Identifier: Apache-2.0
#include "regrow/data/text.h"

#include <algorithm>
#include <array>

#include "regrow/base/error.h"
#include "regrow/base/hash.h"
#include "regrow/data/byte_source.h"
#include "regrow/data/loader.h"
#include "regrow/data/random.h"

namespace regrow::data {
namespace {

constexpr const char* devils_dictionary = "/usr/share/dictd/devil.dict.dz";

// How many bytes a character that begins with this one has; 0: none begins so.
int length_of(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

// The character at the beginning of `bytes`, or 0xffffffff.
char32_t decode_one(std::string_view bytes, int length) {
  constexpr char32_t wrong = 0xffffffff;
  constexpr std::array<char32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  if (length == 0 || bytes.size() < static_cast<std::size_t>(length)) return wrong;
  const auto first = static_cast<unsigned char>(bytes[0]);
  if (length == 1) return first;
  char32_t value = first & (0x7fu >> length);
  for (int i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(bytes[static_cast<std::size_t>(i)]);
    if ((byte & 0xc0) != 0x80) return wrong;
    value = value << 6 | (byte & 0x3f);
  }
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  return value < least[static_cast<std::size_t>(length)] || value > 0x10ffff || surrogate ? wrong : value;
}

}  // namespace

std::u32string decode_utf8(std::string_view bytes, std::string_view name) {
  std::u32string text;
  text.reserve(bytes.size());
  for (std::size_t at = 0; at < bytes.size();) {
    const int length = length_of(static_cast<unsigned char>(bytes[at]));
    const char32_t character = decode_one(bytes.substr(at), length);
    require(character != 0xffffffff, "{}: not UTF-8 at byte {}", name, at);
    text.push_back(character);
    at += static_cast<std::size_t>(length);
  }
  return text;
}

std::string encode_utf8(std::u32string_view text) {
  std::string bytes;
  for (char32_t character : text) {
    if (character < 0x80) {
      bytes += static_cast<char>(character);
      continue;
    }
    const int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    bytes += static_cast<char>((0xff00u >> (more + 1) & 0xffu) | character >> 6 * more);
    for (int i = more - 1; i >= 0; --i) bytes += static_cast<char>(0x80 | (character >> 6 * i & 0x3f));
  }
  return bytes;
}

std::u32string read_text(const std::filesystem::path& path) {
  ByteSource source(path);
  std::string bytes;
  constexpr std::size_t piece = std::size_t{1} << 20;
  for (std::size_t got = piece; got == piece;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + piece);
    got = source.read(reinterpret_cast<std::byte*>(bytes.data() + before), piece);
    bytes.resize(before + got);
  }
  return decode_utf8(bytes, source.name());
}

std::filesystem::path find_devils_dictionary() {
  std::error_code ignored;
  require(std::filesystem::exists(devils_dictionary, ignored),
          "The Devil's Dictionary is not at {}: install Debian's package dict-devil, or name a text file", devils_dictionary);
  return devils_dictionary;
}

Vocabulary::Vocabulary(std::u32string_view text) : characters_(text) {
  std::sort(characters_.begin(), characters_.end());
  characters_.erase(std::unique(characters_.begin(), characters_.end()), characters_.end());
}

std::vector<std::int64_t> Vocabulary::encode(std::u32string_view text) const {
  std::vector<std::int64_t> indices;
  indices.reserve(text.size());
  for (char32_t character : text) {
    const auto at = std::lower_bound(characters_.begin(), characters_.end(), character);
    require(at != characters_.end() && *at == character, "the character '{}' (U+{:04X}) is not one of the {} known ones",
            encode_utf8({&character, 1}), static_cast<std::uint32_t>(character), size());
    indices.push_back(at - characters_.begin());
  }
  return indices;
}

TextLoader::TextLoader(std::u32string_view text, const Vocabulary& vocabulary, TextOptions options) : options_(options) {
  require(options.batch >= 1 && options.length >= 1, "a batch of {} x {} characters is empty", options.batch, options.length);
  require(options.held_out >= 0 && options.held_out < 1, "{} is not a part of a text that can be held out", options.held_out);
  indices_ = vocabulary.encode(text);
  const auto count = static_cast<std::int64_t>(indices_.size());
  learned_ = count - static_cast<std::int64_t>(options.held_out * static_cast<double>(count));
  // One less than would fit: windows begin at a place between 0 and length - 1, and each has a next character.
  windows_ = (learned_ - 1) / options.length - 1;
  batches_ = std::max<std::int64_t>(windows_, 0) / options.batch;
  held_out_windows_ = std::max<std::int64_t>(count - learned_ - 1, 0) / options.length;
  require(batches_ > 0 && (held_out_windows_ > 0 || options.held_out == 0),
          "a text of {} characters is too short for batches of {} x {} and what is held out", count, options.batch,
          options.length);
}

TextBatch TextLoader::batch(std::int64_t epoch, std::int64_t index) {
  require(epoch >= 0, "epoch {} is negative", epoch);
  require(index >= 0 && index < batches_, "batch {} is not one of the {} in an epoch", index, batches_);
  if (arranged_ != epoch) order_ = shuffled_order(windows_, options_.seed, epoch);
  arranged_ = epoch;
  SplitMix64 random(hash_combine(hash_combine(options_.seed, static_cast<std::uint64_t>(epoch)), 1));
  const std::int64_t offset = random.between(0, options_.length - 1);
  std::vector<std::int64_t> begins;
  for (std::int64_t i = index * options_.batch; i < (index + 1) * options_.batch; ++i)
    begins.push_back(offset + order_[static_cast<std::size_t>(i)] * options_.length);
  return gather(begins);
}

TextBatch TextLoader::held_out_batch(std::int64_t index) const {
  require(index >= 0 && index < held_out_batches(), "batch {} is not one of the {} held out", index, held_out_batches());
  std::vector<std::int64_t> begins;
  for (std::int64_t i = index * options_.batch; i < std::min((index + 1) * options_.batch, held_out_windows_); ++i)
    begins.push_back(learned_ + i * options_.length);
  return gather(begins);
}

TextBatch TextLoader::gather(const std::vector<std::int64_t>& begins) const {
  std::vector<std::int64_t> inputs, targets;
  for (std::int64_t begin : begins) {
    const auto first = indices_.begin() + begin;
    inputs.insert(inputs.end(), first, first + options_.length);
    targets.insert(targets.end(), first + 1, first + 1 + options_.length);
  }
  const Shape shape = {static_cast<std::int64_t>(begins.size()), options_.length};
  return {HostArray::from(inputs, shape), HostArray::from(targets, shape)};
}

}  // namespace regrow::data
