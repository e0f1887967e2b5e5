// SPDX-License-Identifier: Apache-2.0
// A short list of 64-bit integers, one for each axis: shapes, strides, axes. No heap, trivially copyable. Any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace regrow {

inline constexpr int max_rank = 8;  // the most axes a tensor may have; more is an error where it is asked for

class Dims {
 public:
  using value_type = std::int64_t;

  constexpr Dims() = default;
  constexpr Dims(std::initializer_list<std::int64_t> values) : Dims(std::span(values.begin(), values.size())) {}
  explicit constexpr Dims(std::span<const std::int64_t> values) {
    for (std::int64_t value : values) push_back(value);
  }
  // `count` times the same value.
  static constexpr Dims filled(std::size_t count, std::int64_t value) {
    Dims dims;
    for (std::size_t i = 0; i < count; ++i) dims.push_back(value);
    return dims;
  }

  constexpr std::size_t size() const noexcept { return rank_; }
  constexpr bool empty() const noexcept { return rank_ == 0; }
  constexpr int rank() const noexcept { return static_cast<int>(rank_); }
  constexpr std::int64_t& operator[](std::size_t i) noexcept { return values_[i]; }
  constexpr std::int64_t operator[](std::size_t i) const noexcept { return values_[i]; }
  constexpr std::int64_t* begin() noexcept { return values_; }
  constexpr std::int64_t* end() noexcept { return values_ + rank_; }
  constexpr const std::int64_t* begin() const noexcept { return values_; }
  constexpr const std::int64_t* end() const noexcept { return values_ + rank_; }
  constexpr std::int64_t& back() noexcept { return values_[rank_ - 1]; }
  constexpr std::int64_t back() const noexcept { return values_[rank_ - 1]; }

  constexpr void push_back(std::int64_t value) {
    if (rank_ == max_rank) too_many();
    values_[rank_++] = value;
  }
  constexpr void insert(std::size_t at, std::int64_t value) {
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  constexpr void erase(std::size_t at) {
    std::copy(begin() + at + 1, end(), begin() + at);
    --rank_;
  }

  friend constexpr bool operator==(const Dims& a, const Dims& b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  [[noreturn]] static void too_many();

  std::uint32_t rank_ = 0;
  std::int64_t values_[max_rank] = {};
};

using Shape = Dims;
using Strides = Dims;  // in elements; may be zero or negative

// Which axes an operation works on: all of them by default, or a list (negative ones count from the end).
class Axes {
 public:
  constexpr Axes() = default;                                    // every axis
  constexpr Axes(std::int64_t axis) : all_(false), list_{axis} {}  // NOLINT: `.axis = 1`
  constexpr Axes(int axis) : Axes(static_cast<std::int64_t>(axis)) {}
  constexpr Axes(std::initializer_list<std::int64_t> axes) : all_(false), list_(axes) {}
  explicit constexpr Axes(const Dims& axes) : all_(false), list_(axes) {}
  static constexpr Axes none() { return Axes(Dims{}); }

  constexpr bool all() const noexcept { return all_; }
  constexpr const Dims& list() const noexcept { return list_; }
  // Sorted, distinct, in [0, rank). Throws Error on an axis out of range or named twice.
  Dims resolve(int rank) const;
  friend constexpr bool operator==(const Axes&, const Axes&) = default;

 private:
  bool all_ = true;
  Dims list_;
};

// An axis in [-rank, rank) as one in [0, rank). Throws Error otherwise.
int resolve_axis(std::int64_t axis, int rank);

std::int64_t element_count(const Shape& shape) noexcept;  // 1 for a scalar
std::string to_string(const Dims& dims);                  // "(2, 3)", "(3,)", "()"
std::string to_string(const Axes& axes);                  // "all", or as Dims
std::uint64_t hash_of(const Dims& dims) noexcept;

}  // namespace regrow
