// SPDX-License-Identifier: Apache-2.0
#include "regrow/data/idx.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <string>

#include "regrow/data/byte_source.h"

namespace regrow::data {
namespace {

std::uint32_t big_endian(const std::byte* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(bytes[i]);
  return value;
}

DType element_type(const ByteSource& source, std::uint8_t code) {
  switch (code) {
    case 0x08: return DType::u8;
    case 0x09: return DType::i8;
    case 0x0b: return DType::i16;
    case 0x0c: return DType::i32;
    case 0x0d: return DType::f32;
    case 0x0e: return DType::f64;
    default: fail("{}: not an IDX file: element type 0x{:02x}", source.name(), code);
  }
}

void reverse_elements(std::byte* data, std::size_t bytes, std::size_t size) {
  for (std::size_t at = 0; at < bytes; at += size) std::reverse(data + at, data + at + size);
}

// The shape, with the promise that its elements fit in what the file can hold.
Shape read_shape(ByteSource& source, int rank, std::size_t element) {
  std::array<std::byte, 4 * max_rank> raw;
  const std::size_t wanted = 4 * static_cast<std::size_t>(rank);
  const std::size_t got = source.read(raw.data(), wanted);
  require(got == wanted, "{}: truncated: the header ends after {} of {} sizes", source.name(), got / 4, rank);
  Shape shape;
  std::uintmax_t bytes = element;
  bool empty = false;
  for (int axis = 0; axis < rank; ++axis) {
    const std::uint32_t size = big_endian(raw.data() + 4 * axis);
    shape.push_back(size);
    empty = empty || size == 0;
    bytes = bytes > source.most_bytes() / std::max(size, 1u) ? std::numeric_limits<std::uintmax_t>::max()
                                                             : bytes * std::max(size, 1u);
  }
  require(empty || bytes <= source.most_bytes(), "{}: truncated: too short for its shape {}", source.name(), to_string(shape));
  return shape;
}

}  // namespace

HostArray read_idx(const std::filesystem::path& path) {
  ByteSource source(path);
  std::array<std::byte, 4> magic;
  require(source.read(magic.data(), 4) == 4, "{}: not an IDX file: shorter than its header", source.name());
  require(magic[0] == std::byte{0} && magic[1] == std::byte{0}, "{}: not an IDX file: magic number 0x{:08x}", source.name(),
          big_endian(magic.data()));
  const DType dtype = element_type(source, std::to_integer<std::uint8_t>(magic[2]));
  const int rank = std::to_integer<int>(magic[3]);
  require(rank >= 1 && rank <= max_rank, "{}: {} axes: between 1 and {} are supported", source.name(), rank, max_rank);

  const Shape shape = read_shape(source, rank, size_of(dtype));
  std::byte* elements = nullptr;
  HostArray array = HostArray::uninitialized(dtype, shape, &elements);
  const std::size_t got = source.read(elements, array.bytes());
  require(got == array.bytes(), "{}: truncated: {} of {} bytes of elements", source.name(), got, array.bytes());
  // Reading on to the end also makes zlib check the sum at the end of the last gzip member.
  std::byte beyond;
  require(source.read(&beyond, 1) == 0, "{}: longer than its header says: more than {} bytes of elements", source.name(), got);
  if constexpr (std::endian::native == std::endian::little) reverse_elements(elements, array.bytes(), size_of(dtype));
  return array;
}

}  // namespace regrow::data
