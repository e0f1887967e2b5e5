// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/attrs.h"

#include <fmt/format.h>

#include <array>
#include <functional>

#include "regrow/base/hash.h"

namespace regrow {
namespace {

constexpr std::array<std::string_view, 10> type_names = {"none",  "bool", "int",  "float",  "str",
                                                         "dtype", "dims", "axes", "device", "scalar"};

AttrType type_of(const AttrValue& value) { return static_cast<AttrType>(value.index()); }

// `value` as the type that the operator declares, or monostate if it cannot be.
AttrValue widened(const AttrValue& value, AttrType wanted) {
  if (type_of(value) == wanted) return value;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if (wanted == AttrType::real) return static_cast<double>(*integer);
    if (wanted == AttrType::axes) return Axes(*integer);
    if (wanted == AttrType::dims) return Dims{*integer};
    if (wanted == AttrType::scalar) return Scalar(*integer);
  }
  if (const auto* real = std::get_if<double>(&value); real && wanted == AttrType::scalar) return Scalar(*real);
  if (const auto* flag = std::get_if<bool>(&value); flag && wanted == AttrType::scalar) return Scalar(*flag);
  if (const auto* dims = std::get_if<Dims>(&value); dims && wanted == AttrType::axes) return Axes(*dims);
  if (const auto* axes = std::get_if<Axes>(&value); axes && wanted == AttrType::dims && !axes->all()) return axes->list();
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (wanted == AttrType::dtype) return dtype_named(*text);
    if (wanted == AttrType::device) return Device(*text);
  }
  return std::monostate{};
}

struct HashOf {
  std::uint64_t operator()(std::monostate) const { return 0; }
  std::uint64_t operator()(bool v) const { return v; }
  std::uint64_t operator()(std::int64_t v) const { return static_cast<std::uint64_t>(v); }
  std::uint64_t operator()(double v) const { return hash_bytes(&v, sizeof v); }
  std::uint64_t operator()(const std::string& v) const { return hash_bytes(v.data(), v.size()); }
  std::uint64_t operator()(DType v) const { return static_cast<std::uint64_t>(v); }
  std::uint64_t operator()(const Dims& v) const { return hash_of(v); }
  std::uint64_t operator()(const Axes& v) const { return hash_combine(v.all(), hash_of(v.list())); }
  std::uint64_t operator()(Device v) const { return v.index; }
  std::uint64_t operator()(const Scalar& v) const {
    return hash_combine(static_cast<std::uint64_t>(v.kind), v.unsigned_integer);
  }
};

struct TextOf {
  std::string operator()(std::monostate) const { return "none"; }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(std::int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return fmt::format("{}", v); }
  std::string operator()(const std::string& v) const { return v; }
  template <class T>
  std::string operator()(const T& v) const {
    return regrow::to_string(v);
  }
};

}  // namespace

std::string_view name_of(AttrType type) noexcept { return type_names[static_cast<std::size_t>(type)]; }

std::string to_string(const AttrValue& value) { return std::visit(TextOf{}, value); }

Attrs::Attrs(std::string_view op, std::span<const AttrSpec> specs, std::span<const AttrArg> given,
             std::shared_ptr<const AttrObject> object, Site site) {
  if (specs.empty() && given.empty() && !object) return;
  auto set = std::make_unique<Set>();
  set->specs = specs;
  set->values.reserve(specs.size());
  for (const AttrSpec& spec : specs) set->values.push_back(spec.fallback);
  for (const AttrArg& arg : given) {
    std::size_t i = 0;
    while (i < specs.size() && specs[i].name != arg.name) ++i;
    if (i == specs.size()) fail_at(site, "{}: no attribute is named '{}'", op, arg.name);
    if (arg.value.index() == 0 && specs[i].optional) continue;
    set->values[i] = widened(arg.value, specs[i].type);
    if (set->values[i].index() == 0)
      fail_at(site, "{}: attribute '{}' is a {}, not a {}", op, arg.name, name_of(specs[i].type), name_of(type_of(arg.value)));
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (set->values[i].index() == 0 && !specs[i].optional) fail_at(site, "{}: attribute '{}' is required", op, specs[i].name);
    set->hash = hash_combine(set->hash, hash_combine(set->values[i].index(), std::visit(HashOf{}, set->values[i])));
  }
  set->object = std::move(object);
  if (set->object) set->hash = hash_combine(set->hash, std::hash<const void*>{}(set->object.get()));
  set_ = set.release();
}

const AttrValue& Attrs::value(std::string_view name) const {
  if (set_)
    for (std::size_t i = 0; i < set_->specs.size(); ++i)
      if (set_->specs[i].name == name) return set_->values[i];
  fail("the operator has no attribute named '{}'", name);
}

bool operator==(const Attrs& a, const Attrs& b) noexcept {
  if (a.set_ == b.set_) return true;
  if (!a.set_ || !b.set_) return false;
  return a.set_->hash == b.set_->hash && a.set_->object == b.set_->object && a.set_->values == b.set_->values;
}

std::string Attrs::text() const {
  std::string text;
  if (!set_) return text;
  for (std::size_t i = 0; i < set_->specs.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::string(set_->specs[i].name) + "=" + to_string(set_->values[i]);
  if (set_->object) text += (text.empty() ? "" : ", ") + set_->object->text();
  return text;
}

}  // namespace regrow
