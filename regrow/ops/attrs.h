// SPDX-License-Identifier: Apache-2.0
// Attributes of an operation: named, typed, with defaults; comparable, hashable, printable. Immutable and shared. Any thread.
//
// The profiler, the cost table, the trace matcher and every error text read them without knowing the operator.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "regrow/base/error.h"
#include "regrow/tensor/device.h"
#include "regrow/tensor/dims.h"
#include "regrow/tensor/dtype.h"

namespace regrow {

// monostate: an optional attribute that was not given.
using AttrValue = std::variant<std::monostate, bool, std::int64_t, double, std::string, DType, Dims, Axes, Device, Scalar>;

enum class AttrType : std::uint8_t { none, boolean, integer, real, text, dtype, dims, axes, device, scalar };
std::string_view name_of(AttrType type) noexcept;

// One attribute that an operator has.
struct AttrSpec {
  std::string_view name;
  AttrType type = AttrType::integer;
  AttrValue fallback = {};  // used when not given; monostate with `optional`: may stay unset; monostate without: required
  bool optional = false;
  std::string_view doc;
};

// One attribute as a user gives it: {"axis", Axes{0}}.
struct AttrArg {
  std::string_view name;
  AttrValue value;
};

// What an operation carries beside plain attributes: a user's callback, the program of a fused operation. Compared by identity.
class AttrObject {
 public:
  virtual ~AttrObject() = default;
  virtual std::string text() const = 0;
};

class Attrs {
 public:
  Attrs() = default;  // no attributes
  // Checks names and types against the specs (integers widen to real, axes, scalar), fills in defaults.
  // Throws Error "sum: no attribute is named 'axes'" and the like.
  Attrs(std::string_view op, std::span<const AttrSpec> specs, std::span<const AttrArg> given,
        std::shared_ptr<const AttrObject> object = {}, Site site = Site::here());
  Attrs(const Attrs& other) noexcept : set_(other.set_) { retain(); }
  Attrs(Attrs&& other) noexcept : set_(std::exchange(other.set_, nullptr)) {}
  Attrs& operator=(Attrs other) noexcept {
    std::swap(set_, other.set_);
    return *this;
  }
  ~Attrs() { release(); }

  // The value of an attribute that the operator has, of exactly this alternative: attrs.get<Axes>("axis").
  template <class T>
  const T& get(std::string_view name) const {
    return std::get<T>(value(name));
  }
  bool has(std::string_view name) const { return value(name).index() != 0; }  // false: optional and unset
  const AttrValue& value(std::string_view name) const;
  const AttrObject* object() const noexcept { return set_ ? set_->object.get() : nullptr; }

  std::uint64_t hash() const noexcept { return set_ ? set_->hash : 0; }
  friend bool operator==(const Attrs& a, const Attrs& b) noexcept;
  std::string text() const;  // "axis=(0,), keepdims=false"; empty without attributes

 private:
  struct Set {
    std::atomic<std::uint32_t> owners = 1;
    std::span<const AttrSpec> specs;
    std::vector<AttrValue> values;
    std::shared_ptr<const AttrObject> object;
    std::uint64_t hash = 0;
  };
  void retain() const noexcept {
    if (set_) set_->owners.fetch_add(1, std::memory_order_relaxed);
  }
  void release() noexcept {
    if (set_ && set_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) delete set_;
  }

  Set* set_ = nullptr;
};

std::string to_string(const AttrValue& value);

}  // namespace regrow
