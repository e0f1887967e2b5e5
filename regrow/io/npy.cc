// SPDX-License-Identifier: Apache-2.0
#include "regrow/io/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

#include "regrow/base/error.h"
#include "regrow/io/atomic_file.h"
#include "regrow/io/mapped_file.h"
#include "regrow/tensor/format.h"

namespace regrow::io {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::pair<std::string_view, DType> kinds[] = {
    {"b1", DType::boolean}, {"i1", DType::i8},  {"i2", DType::i16}, {"i4", DType::i32}, {"i8", DType::i64}, {"u1", DType::u8},
    {"u2", DType::u16},     {"u4", DType::u32}, {"u8", DType::u64}, {"f2", DType::f16}, {"f4", DType::f32}, {"f8", DType::f64}};

struct Header {
  DType dtype = DType::f32;
  bool swapped = false;  // big-endian
  bool column_major = false;
  Shape shape;
};

// The header's text: a Python dictionary with the keys 'descr', 'fortran_order' and 'shape', each once.
class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Header parse() {
    Header header;
    bool descr = false, order = false, shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string();
      bool& seen = key == "descr" ? descr : key == "fortran_order" ? order : shape;
      if (key != "descr" && key != "fortran_order" && key != "shape") fail("the header has an unknown key at byte {}", at_);
      if (std::exchange(seen, true)) fail("the header names '{}' twice", key);
      expect(':');
      if (key == "descr") read_type(header);
      if (key == "fortran_order") header.column_major = truth();
      if (key == "shape") header.shape = tuple();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip();
    if (at_ != text_.size()) fail("the header goes on after its end at byte {}", at_);
    if (!descr || !order || !shape) fail("the header lacks '{}'", !descr ? "descr" : !order ? "fortran_order" : "shape");
    return header;
  }

 private:
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char wanted) {
    skip();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail("the header has no '{}' at byte {}", wanted, at_);
  }
  std::string_view string() {
    skip();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fail("the header has no string at byte {}", at_);
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("the header has a string without end at byte {}", at_);
    const std::string_view found = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return found;
  }
  bool truth() {
    skip();
    for (const auto& [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}})
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return value;
      }
    fail("the header has no truth value at byte {}", at_);
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      skip();
      std::int64_t size = 0;
      const auto [end, code] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (code != std::errc() || size < 0) fail("the header has no size that fits at byte {}", at_);
      at_ = static_cast<std::size_t>(end - text_.data());
      if (shape.rank() == max_rank) fail("the array has more than {} axes", max_rank);
      shape.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }
  void read_type(Header& header) {
    skip();
    if (at_ < text_.size() && text_[at_] == '[') fail("arrays of records are not supported");
    const std::string_view text = string();
    const auto* kind = std::find_if(std::begin(kinds), std::end(kinds),
                                    [&](const auto& known) { return text.size() == 3 && text.substr(1) == known.first; });
    const bool single = kind != std::end(kinds) && size_of(kind->second) == 1;
    if (kind == std::end(kinds) || (text[0] != '<' && text[0] != '>' && !(single && text[0] == '|')))
      fail("the element type '{}' is not supported", text.substr(0, 40));
    header.dtype = kind->second;
    header.swapped = text[0] == '>';
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

struct Located {
  Header header;
  std::span<const std::byte> elements;
};

Located locate(std::span<const std::byte> file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.substr(0, magic.size()) != magic || text.size() < 8) fail("not an npy file");
  const int version = static_cast<unsigned char>(text[6]);
  if (version < 1 || version > 3) fail("version {} of the format is not known", version);
  const std::size_t digits = version == 1 ? 2 : 4, begin = 8 + digits;
  if (text.size() < begin) fail("truncated: the header has no length");
  std::size_t length = 0;
  for (std::size_t i = 0; i < digits; ++i) length |= static_cast<std::size_t>(static_cast<unsigned char>(text[8 + i])) << (8 * i);
  if (length > text.size() - begin) fail("truncated: the header is {} bytes long, the file {}", length, text.size());
  Located found{HeaderParser(text.substr(begin, length)).parse(), file.subspan(begin + length)};
  std::uint64_t bytes = size_of(found.header.dtype);
  bool empty = false;
  for (std::int64_t size : found.header.shape) {
    empty = empty || size == 0;
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1)), &bytes))
      fail("the shape {} is too large", found.header.shape);
  }
  if (empty) bytes = 0;
  if (bytes != found.elements.size())
    fail("the shape {} takes {} bytes, the file has {}", found.header.shape, bytes, found.elements.size());
  return found;
}

HostArray array_of(const Located& found) {
  const Header& header = found.header;
  std::byte* elements = nullptr;
  HostArray array = HostArray::uninitialized(header.dtype, header.shape, &elements);
  if (array.bytes() == 0) return array;
  if (!header.column_major) {
    std::memcpy(elements, found.elements.data(), array.bytes());
  } else {
    Desc desc = Desc::dense(header.dtype, header.shape);
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < header.shape.size(); ++i) desc.strides[i] = stride, stride *= header.shape[i];
    array = HostArray::gather({&desc, const_cast<std::byte*>(found.elements.data())});
    elements = const_cast<std::byte*>(array.data());
  }
  const std::size_t size = size_of(header.dtype);
  if (header.swapped)
    for (std::size_t i = 0; i < array.bytes(); i += size) std::reverse(elements + i, elements + i + size);
  return array;
}

}  // namespace

HostArray read_npy(const std::filesystem::path& path, Site site) {
  const MappedFile file(path, site);
  try {
    return array_of(locate(file.bytes()));
  } catch (const Error& error) {
    fail_at(site, "{}: {}", path.string(), error.message());
  }
}

void write_npy(const std::filesystem::path& path, const HostArray& array, Site site) {
  const auto* kind = std::find_if(std::begin(kinds), std::end(kinds), [&](const auto& k) { return k.second == array.dtype(); });
  if (kind == std::end(kinds)) fail_at(site, "{}: NumPy has no element type {}", path.string(), name_of(array.dtype()));
  const char order = size_of(array.dtype()) == 1 ? '|' : '<';
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}", order, kind->first, array.shape());
  constexpr std::size_t prefix = 10;
  text.append(63 - (prefix + text.size()) % 64, ' ');  // elements begin at a multiple of 64
  text += '\n';
  std::string head(magic);
  head += {1, 0, static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  AtomicFile file(path, site);
  file.write(std::as_bytes(std::span(head)));
  file.write(std::as_bytes(std::span(text)));
  file.write({array.data(), array.bytes()});
  file.commit();
}

}  // namespace regrow::io
