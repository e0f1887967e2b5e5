// SPDX-License-Identifier: Apache-2.0
#include "regrow/io/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

#include "regrow/base/error.h"
#include "regrow/frontend/create.h"
#include "regrow/io/atomic_file.h"
#include "regrow/tensor/format.h"

namespace regrow::io {
namespace {

static_assert(std::endian::native == std::endian::little, "the format's elements are little-endian");

// The message after the file's name, with the caller's line.
template <class F>
auto naming(const std::filesystem::path& path, Site site, F&& run) {
  try {
    return run();
  } catch (const Error& error) {
    fail_at(site, "{}: {}", path.string(), error.message());
  }
}

}  // namespace

SafetensorsReader::SafetensorsReader(const std::filesystem::path& path, Site site)
    : file_(path, site), header_(naming(path, site, [&] { return parse_header(file_.bytes()); })) {
  by_name_.resize(header_.entries.size());
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::sort(by_name_.begin(), by_name_.end(),
            [&](std::size_t a, std::size_t b) { return header_.entries[a].name < header_.entries[b].name; });
}

const ArrayEntry* SafetensorsReader::find(std::string_view name) const {
  const auto found = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                      [&](std::size_t i, std::string_view wanted) { return header_.entries[i].name < wanted; });
  if (found == by_name_.end() || header_.entries[*found].name != name) return nullptr;
  return &header_.entries[*found];
}

HostArray SafetensorsReader::read(const ArrayEntry& entry) const {
  std::byte* elements = nullptr;
  HostArray array = HostArray::uninitialized(entry.dtype, entry.shape, &elements);
  if (array.bytes() != 0) std::memcpy(elements, file_.bytes().data() + header_.bytes + entry.begin, array.bytes());
  // Any byte but 0 means true to those who write one; to us only 1 does.
  if (entry.dtype == DType::boolean)
    std::transform(elements, elements + array.bytes(), elements,
                   [](std::byte value) { return value == std::byte{0} ? std::byte{0} : std::byte{1}; });
  return array;
}

void write_safetensors(const std::filesystem::path& path, const std::vector<ArrayPlan>& arrays,
                       const std::function<HostArray(std::size_t)>& elements, const Metadata& metadata, Site site) {
  // Wide elements first: all are aligned then, for readers that map the file and do not copy.
  std::vector<std::size_t> order(arrays.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size_of(arrays[a].dtype) > size_of(arrays[b].dtype); });
  SafetensorsHeader header;
  header.metadata = metadata;
  std::uint64_t end = 0;
  for (std::size_t i : order) {
    const std::uint64_t begin = end;
    end += static_cast<std::uint64_t>(element_count(arrays[i].shape)) * size_of(arrays[i].dtype);
    header.entries.push_back({arrays[i].name, arrays[i].dtype, arrays[i].shape, begin, end});
  }
  const std::string text = naming(path, site, [&] { return format_header(header); });
  AtomicFile file(path, site);
  file.write(std::as_bytes(std::span(text)));
  for (std::size_t i : order) {
    const HostArray array = elements(i);
    if (array.dtype() != arrays[i].dtype || array.shape() != arrays[i].shape)
      fail_at(site, "{}: array {} was to be a {}{}, not a {}{}", path.string(), shown(arrays[i].name), name_of(arrays[i].dtype),
              arrays[i].shape, name_of(array.dtype()), array.shape());
    file.write({array.data(), array.bytes()});
  }
  file.commit();
}

void save_safetensors(const std::filesystem::path& path, const NamedTensors& tensors, const Metadata& metadata, Site site) {
  std::vector<ArrayPlan> arrays;
  for (const auto& [name, tensor] : tensors) arrays.push_back({name, tensor.dtype(site), tensor.shape(site)});
  write_safetensors(
      path, arrays, [&](std::size_t i) { return tensors[i].second.host(site); }, metadata, site);
}

NamedTensors load_safetensors(const std::filesystem::path& path, Device device, Site site) {
  const SafetensorsReader reader(path, site);
  NamedTensors tensors;
  for (const ArrayEntry& entry : reader.entries())
    tensors.emplace_back(entry.name, tensor(reader.read(entry), {.device = device}, site));
  return tensors;
}

Metadata read_metadata(const std::filesystem::path& path, Site site) { return SafetensorsReader(path, site).metadata(); }

}  // namespace regrow::io
