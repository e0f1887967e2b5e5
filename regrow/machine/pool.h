// SPDX-License-Identifier: Apache-2.0
// Numbered objects whose numbers, and whose capacity, are used again. One thread.
#pragma once

#include <cstdint>
#include <vector>

namespace regrow::machine {

// Ids are dense. take() may move all objects: hold ids across it, not references. An object is as give() left it: its owner clears
// it, so that vectors inside keep their capacity.
template <class T>
class Pool {
 public:
  T& operator[](std::uint32_t id) noexcept { return items_[id]; }
  const T& operator[](std::uint32_t id) const noexcept { return items_[id]; }

  std::uint32_t take() {
    if (free_.empty()) {
      items_.emplace_back();
      return static_cast<std::uint32_t>(items_.size() - 1);
    }
    const std::uint32_t id = free_.back();
    free_.pop_back();
    return id;
  }
  void give(std::uint32_t id) { free_.push_back(id); }

  std::uint32_t used() const noexcept { return static_cast<std::uint32_t>(items_.size() - free_.size()); }
  std::uint32_t most() const noexcept { return static_cast<std::uint32_t>(items_.size()); }  // ids are below this

 private:
  std::vector<T> items_;
  std::vector<std::uint32_t> free_;
};

}  // namespace regrow::machine
