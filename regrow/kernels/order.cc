// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/order.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "regrow/kernels/parts.h"
#include "regrow/tensor/visit.h"

namespace regrow::kernels {
namespace {

// Bits of a floating type as an unsigned number that orders as the elements do.
template <class Unit>
Unit float_key(Unit bits, Unit infinity) {
  constexpr Unit sign = static_cast<Unit>(Unit{1} << (std::numeric_limits<Unit>::digits - 1));
  const Unit magnitude = bits & static_cast<Unit>(~sign);
  if (magnitude > infinity) return static_cast<Unit>(~Unit{0});
  if (magnitude == 0) return sign;
  return bits & sign ? static_cast<Unit>(~bits) : static_cast<Unit>(bits | sign);
}

template <class T>
auto key_of(T x) {
  if constexpr (std::is_same_v<T, bool>) {
    return static_cast<std::uint8_t>(x);
  } else if constexpr (std::is_same_v<T, Half>) {
    return float_key<std::uint16_t>(x.bits, 0x7c00);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return float_key<std::uint16_t>(x.bits, 0x7f80);
  } else if constexpr (std::is_same_v<T, float>) {
    return float_key<std::uint32_t>(std::bit_cast<std::uint32_t>(x), 0x7f800000);
  } else if constexpr (std::is_same_v<T, double>) {
    return float_key<std::uint64_t>(std::bit_cast<std::uint64_t>(x), 0x7ff0000000000000);
  } else {
    using U = std::make_unsigned_t<T>;
    return static_cast<U>(std::is_signed_v<T> ? static_cast<U>(x) ^ static_cast<U>(U{1} << (std::numeric_limits<U>::digits - 1))
                                              : x);
  }
}

// A key above the place of its element, so that no two entries are equal: any sort is a stable one.
struct ShortEntry {
  std::uint64_t both;
  ShortEntry() = default;
  ShortEntry(std::uint64_t key, std::int64_t place) : both(key << 32 | static_cast<std::uint64_t>(place)) {}
  std::int64_t place() const { return static_cast<std::int64_t>(both & 0xffffffff); }
  friend bool operator<(ShortEntry a, ShortEntry b) { return a.both < b.both; }
};
struct LongEntry {
  std::uint64_t key;
  std::int64_t at;
  LongEntry() = default;
  LongEntry(std::uint64_t k, std::int64_t place) : key(k), at(place) {}
  std::int64_t place() const { return at; }
  friend bool operator<(const LongEntry& a, const LongEntry& b) { return a.key != b.key ? a.key < b.key : a.at < b.at; }
};

bool short_entries(const Desc& x, std::size_t axis) { return size_of(x.dtype) <= 4 && x.shape[axis] <= std::int64_t{1} << 32; }

std::size_t bytes_a_line(const Desc& x, std::size_t axis) {
  const std::size_t entry = short_entries(x, axis) ? sizeof(ShortEntry) : sizeof(LongEntry);
  return static_cast<std::size_t>(x.shape[axis]) * entry;
}

// A tensor as lines along an axis.
struct Lines {
  Lines(const View& view, std::size_t axis)
      : data(view.data), rest(view.shape()), across(view.strides()), step(view.strides()[axis]) {
    rest.erase(axis), across.erase(axis);
  }
  template <class T>
  T* line(std::int64_t k) const {
    std::int64_t offset = 0;
    for (std::size_t i = rest.size(); i-- > 0; k /= rest[i]) offset += k % rest[i] * across[i];
    return reinterpret_cast<T*>(data) + offset;
  }

  std::byte* data;
  Shape rest;
  Strides across;
  std::int64_t step;
};

// The entries of a line of n, the first `wanted` in order.
template <class Entry, class T>
void order_line(const T* x, std::int64_t step, std::int64_t n, std::int64_t wanted, bool descending, Entry* entries) {
  using Key = decltype(key_of(T{}));
  const Key flip = descending ? static_cast<Key>(~Key{0}) : Key{0};
  for (std::int64_t i = 0; i < n; ++i) entries[i] = Entry(static_cast<Key>(key_of(x[i * step]) ^ flip), i);
  if (wanted < n) std::nth_element(entries, entries + wanted, entries + n);
  std::sort(entries, entries + wanted);
}

template <class Entry, class T>
void sort_as(const View& x, const Ordering& ordering, const View* values, const View* places, std::span<std::byte> workspace) {
  const View& like = values ? *values : *places;
  const std::int64_t n = x.shape()[ordering.axis], wanted = like.shape()[ordering.axis], lines = like.count() / wanted;
  const auto parts = static_cast<int>(workspace.size() / (static_cast<std::size_t>(n) * sizeof(Entry)));
  const Lines from(x, ordering.axis), to_values(like, ordering.axis), to_places(places ? *places : like, ordering.axis);
  for_parts(parts, [&](int part) {
    Entry* entries = reinterpret_cast<Entry*>(workspace.data()) + part * n;
    for (std::int64_t k = cut(lines, parts, part); k < cut(lines, parts, part + 1); ++k) {
      const T* line = from.line<const T>(k);
      order_line(line, from.step, n, wanted, ordering.descending, entries);
      if (values)
        for (std::int64_t i = 0; i < wanted; ++i) to_values.line<T>(k)[i * to_values.step] = line[entries[i].place() * from.step];
      if (places)
        for (std::int64_t i = 0; i < wanted; ++i) to_places.line<std::int64_t>(k)[i * to_places.step] = entries[i].place();
    }
  });
}

}  // namespace

std::size_t sort_workspace(const Desc& x, std::size_t axis) {
  if (x.count() == 0) return 0;
  const std::int64_t lines = x.count() / x.shape[axis];
  const int parts = parts_for(static_cast<double>(x.count()), 1 << 13);
  return bytes_a_line(x, axis) * static_cast<std::size_t>(std::min<std::int64_t>(parts, lines));
}

void sort(const View& x, const Ordering& ordering, const View* values, const View* places, std::span<std::byte> workspace) {
  if ((values ? values : places)->count() == 0) return;
  visit_type(x.dtype(), [&]<class T>(Type<T>) {
    if constexpr (sizeof(T) <= 4)
      if (short_entries(*x.desc, ordering.axis)) return sort_as<ShortEntry, T>(x, ordering, values, places, workspace);
    sort_as<LongEntry, T>(x, ordering, values, places, workspace);
  });
}

}  // namespace regrow::kernels
