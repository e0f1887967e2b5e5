// SPDX-License-Identifier: Apache-2.0
#include "regrow/io/safetensors_header.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "regrow/base/error.h"
#include "regrow/tensor/format.h"

namespace regrow::io {
namespace {

constexpr std::string_view metadata_key = "__metadata__";
constexpr std::pair<std::string_view, DType> dtype_names[] = {
    {"BOOL", DType::boolean}, {"I8", DType::i8},   {"I16", DType::i16}, {"I32", DType::i32}, {"I64", DType::i64},
    {"U8", DType::u8},        {"U16", DType::u16}, {"U32", DType::u32}, {"U64", DType::u64}, {"F16", DType::f16},
    {"BF16", DType::bf16},    {"F32", DType::f32}, {"F64", DType::f64}};

DType dtype_of_name(const std::string& name, const ArrayEntry& entry) {
  for (const auto& [text, dtype] : dtype_names)
    if (text == name) return dtype;
  fail("array {} has the element type {}, which is not supported", shown(entry.name), shown(name));
}

// Follows the text token by token, so that what a hostile header costs is what it names, and accepts just what the format has:
// {"name": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}, …, "__metadata__": {"key": "value", …}}.
class HeaderListener : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderListener(SafetensorsHeader& header) : header_(header) {}

  bool start_object(std::size_t) override {
    if (where_ == Where::outside) return move_to(Where::names);
    if (where_ != Where::value_of_name) unexpected("an object");
    if (name_ == metadata_key) return move_to(Where::metadata);
    entry_ = ArrayEntry();
    entry_.name = name_;
    seen_dtype_ = seen_shape_ = seen_offsets_ = false;
    return move_to(Where::entry);
  }
  bool key(string_t& text) override {
    if (where_ == Where::names) {
      name_ = std::move(text);
      return move_to(Where::value_of_name);
    }
    key_ = std::move(text);
    if (where_ == Where::metadata) {
      if (header_.metadata.count(key_)) fail("the header has the metadata {} twice", shown(key_));
      return move_to(Where::value_of_metadata);
    }
    bool& seen = key_ == "dtype" ? seen_dtype_ : key_ == "shape" ? seen_shape_ : seen_offsets_;
    if (key_ != "dtype" && key_ != "shape" && key_ != "data_offsets")
      fail("array {} has an unknown property {}", shown(name_), shown(key_));
    if (std::exchange(seen, true)) fail("array {} has the property {} twice", shown(name_), shown(key_));
    return move_to(Where::value_of_property);
  }
  bool end_object() override {
    if (where_ == Where::names) return move_to(Where::end);
    if (where_ == Where::metadata) {
      if (std::exchange(seen_metadata_, true)) fail("the header has {} twice", shown(std::string(metadata_key)));
      return move_to(Where::names);
    }
    if (!seen_dtype_ || !seen_shape_ || !seen_offsets_)
      fail("array {} lacks its {}", shown(name_), !seen_dtype_ ? "dtype" : !seen_shape_ ? "shape" : "data_offsets");
    header_.entries.push_back(std::move(entry_));
    return move_to(Where::names);
  }
  bool start_array(std::size_t) override {
    if (where_ != Where::value_of_property || key_ == "dtype") unexpected("a list");
    offsets_ = 0;
    return move_to(Where::list);
  }
  bool end_array() override {
    if (key_ == "data_offsets" && offsets_ != 2) fail("array {} has {} data_offsets, not 2", shown(name_), offsets_);
    return move_to(Where::entry);
  }
  bool string(string_t& text) override {
    if (where_ == Where::value_of_metadata) {
      header_.metadata.emplace(std::move(key_), std::move(text));
      return move_to(Where::metadata);
    }
    if (where_ != Where::value_of_property || key_ != "dtype") unexpected("a string");
    entry_.dtype = dtype_of_name(text, entry_);
    return move_to(Where::entry);
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (where_ != Where::list) unexpected("a number");
    if (key_ == "data_offsets") {
      if (offsets_ < 2) (offsets_ == 0 ? entry_.begin : entry_.end) = value;
      ++offsets_;
      return true;
    }
    if (entry_.shape.rank() == max_rank) fail("array {} has more than {} axes", shown(name_), max_rank);
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      fail("array {} is {} long: too large", shown(name_), value);
    entry_.shape.push_back(static_cast<std::int64_t>(value));
    return true;
  }
  bool number_integer(number_integer_t value) override {
    if (where_ != Where::list) unexpected("a number");
    fail("array {} has a negative number in its {}: {}", shown(name_), key_, value);
  }
  bool number_float(number_float_t, const string_t& text) override {
    if (where_ != Where::list) unexpected("a number");
    fail("array {} has in its {} a number that is no 64-bit integer: {}", shown(name_), key_, shown(text));
  }
  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a truth value"); }
  bool binary(binary_t&) override { unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    fail("the header is not valid JSON at byte {}", position);
  }

 private:
  // What the next token belongs to.
  enum class Where { outside, names, value_of_name, metadata, value_of_metadata, entry, value_of_property, list, end };
  bool move_to(Where where) {
    where_ = where;
    return true;
  }
  [[noreturn]] void unexpected(const char* what) const {
    if (where_ == Where::outside) fail("the header is {}, not an object", what);
    if (where_ == Where::value_of_name) fail("{} is {}, not an object", shown(name_), what);
    if (where_ == Where::value_of_metadata) fail("the metadata {} is {}, not a string", shown(key_), what);
    fail("array {} has {} as its {}", shown(name_), what, key_);
  }

  SafetensorsHeader& header_;
  Where where_ = Where::outside;
  std::string name_, key_;
  ArrayEntry entry_;
  int offsets_ = 0;
  bool seen_dtype_ = false, seen_shape_ = false, seen_offsets_ = false, seen_metadata_ = false;
};

std::optional<std::uint64_t> bytes_of(const ArrayEntry& entry) {
  std::uint64_t bytes = size_of(entry.dtype);
  bool empty = false;
  for (std::int64_t size : entry.shape) {
    empty = empty || size == 0;
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1)), &bytes)) return std::nullopt;
  }
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return empty ? 0 : bytes;
}

void check_names(const std::vector<ArrayEntry>& entries) {
  std::vector<const std::string*> names;
  for (const ArrayEntry& entry : entries) names.push_back(&entry.name);
  std::sort(names.begin(), names.end(), [](const auto* a, const auto* b) { return *a < *b; });
  for (std::size_t i = 1; i < names.size(); ++i)
    if (*names[i - 1] == *names[i]) fail("the name {} occurs twice", shown(*names[i]));
}

// Side by side from the first byte to the last.
void check_places(std::vector<ArrayEntry>& entries, std::uint64_t available) {
  for (const ArrayEntry& entry : entries) {
    if (entry.begin > entry.end || entry.end > available)
      fail("array {} lies at [{}, {}) of {} bytes of data", shown(entry.name), entry.begin, entry.end, available);
    const std::optional<std::uint64_t> bytes = bytes_of(entry);
    if (!bytes) fail("array {} has the shape {}: too large", shown(entry.name), entry.shape);
    if (*bytes != entry.end - entry.begin)
      fail("array {} has {} bytes, but {}{} takes {}", shown(entry.name), entry.end - entry.begin, name_of(entry.dtype),
           entry.shape, *bytes);
  }
  std::stable_sort(entries.begin(), entries.end(), [](const ArrayEntry& a, const ArrayEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t covered = 0;
  for (const ArrayEntry& entry : entries) {
    if (entry.begin < covered) fail("array {} overlaps with another", shown(entry.name));
    if (entry.begin > covered) fail("there is a gap of {} bytes before array {}", entry.begin - covered, shown(entry.name));
    covered = entry.end;
  }
  if (covered < available) fail("{} bytes follow after the last array", available - covered);
}

}  // namespace

std::string shown(const std::string& name) {
  constexpr std::size_t most = 80;
  const auto replace = nlohmann::json::error_handler_t::replace;
  if (name.size() <= most) return nlohmann::json(name).dump(-1, ' ', true, replace);
  return nlohmann::json(name.substr(0, most)).dump(-1, ' ', true, replace) + "…";
}

SafetensorsHeader parse_header(std::span<const std::byte> file) {
  std::uint64_t length = 0;
  if (file.size() < sizeof length) fail("too short for a safetensors file: {} bytes", file.size());
  for (std::size_t i = 0; i < sizeof length; ++i) length |= std::to_integer<std::uint64_t>(file[i]) << (8 * i);
  if (length > most_header_bytes) fail("the header's length is {} bytes: at most {} are allowed", length, most_header_bytes);
  if (length > file.size() - sizeof length) fail("truncated: the header is {} bytes long, the file {}", length, file.size());
  const auto* text = reinterpret_cast<const char*>(file.data()) + sizeof length;
  if (length == 0 || *text != '{') fail("the header does not begin with '{{'");
  SafetensorsHeader header;
  header.bytes = sizeof length + static_cast<std::size_t>(length);
  HeaderListener listener(header);
  nlohmann::json::sax_parse(text, text + length, &listener);
  check_names(header.entries);
  check_places(header.entries, file.size() - header.bytes);
  return header;
}

std::string format_header(const SafetensorsHeader& header) {
  check_names(header.entries);
  // Each part is dumped by itself: names keep the order that they were given in.
  std::string text(8, '\0');
  auto quote = [](const std::string& string) {
    try {
      return nlohmann::json(string).dump();
    } catch (const nlohmann::json::exception&) {
      fail("{} is not valid UTF-8", shown(string));
    }
  };
  auto separate = [&, first = true]() mutable { text += std::exchange(first, false) ? "{" : ","; };
  if (!header.metadata.empty()) {
    separate();
    text += quote(std::string(metadata_key)) + ":";
    char before = '{';
    for (const auto& [key, value] : header.metadata) {
      text += std::exchange(before, ',') + quote(key) + ":" + quote(value);
    }
    text += "}";
  }
  for (const ArrayEntry& entry : header.entries) {
    if (entry.name == metadata_key) fail("an array cannot be named {}", shown(entry.name));
    separate();
    const auto* type = std::find_if(std::begin(dtype_names), std::end(dtype_names),
                                    [&](const auto& known) { return known.second == entry.dtype; });
    text += quote(entry.name) + ":" + R"({"dtype":")" + std::string(type->first) + R"(","shape":[)";
    for (std::size_t i = 0; i < entry.shape.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(entry.shape[i]);
    text += "],\"data_offsets\":[" + std::to_string(entry.begin) + "," + std::to_string(entry.end) + "]}";
    if (text.size() > most_header_bytes + 8) break;
  }
  text += text.size() == 8 ? "{}" : "}";
  while (text.size() % 8 != 0) text += ' ';
  const std::uint64_t length = text.size() - 8;
  if (length > most_header_bytes)
    fail("names and metadata make a header of more than {} bytes, which no reader accepts", most_header_bytes);
  for (std::size_t i = 0; i < 8; ++i) text[i] = static_cast<char>(length >> (8 * i) & 0xff);
  return text;
}

}  // namespace regrow::io
