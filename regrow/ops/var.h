// SPDX-License-Identifier: Apache-2.0
// The algebra that gradient rules are written in. A Var is a handle into whatever is recording: this layer knows the interface
// only, autograd implements it. One thread: the one that runs backward.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "regrow/base/fixed_string.h"
#include "regrow/ops/op.h"

namespace regrow {

class Recorder;

struct Var {
  Recorder* recorder = nullptr;
  std::int32_t id = -1;
  explicit operator bool() const noexcept { return id >= 0; }
};

class Recorder {
 public:
  virtual ~Recorder() = default;
  // Applies an operation; `out` has the size of its outputs. Seeded operators take the random state of the forward one.
  virtual void call(const Op& op, std::span<const Var> in, RandomState random, std::span<Var> out) = 0;
  // A scalar tensor of this type on the device of `like`.
  virtual Var constant(const Scalar& value, DType dtype, Var like) = 0;
  // Type and shape; waits if the shape is known only once the value is.
  virtual const Desc& desc(Var v) = 0;
};

// What a gradient rule is given, and where it puts its results.
class Gradient {
 public:
  // Only what the record saves may be read: an unsaved one throws Error.
  Var in(std::size_t i) const { return saved(ins_, i, "input"); }
  Var out(std::size_t i = 0) const { return saved(outs_, i, "output"); }
  bool has_grad(std::size_t i = 0) const { return static_cast<bool>(grads_[i]); }
  Var grad(std::size_t i = 0) const { return grads_[i]; }  // of output i; null where nothing flowed back
  bool wants(std::size_t i) const { return wants_[i]; }
  std::size_t input_count() const { return in_descs_.size(); }
  const Desc& in_desc(std::size_t i) const { return *in_descs_[i]; }   // always there, saved or not
  const Desc& out_desc(std::size_t i) const { return *out_descs_[i]; }
  const Attrs& attrs() const { return *attrs_; }
  const Op& op() const { return *op_; }
  RandomState random() const { return random_; }
  // Whether what the rule computes will be differentiated in turn: a rule whose fastest operator has no gradient then says the same
  // with others that have one.
  bool recorded() const { return recorded_; }
  Recorder& recorder() const { return *recorder_; }
  // The gradient of input i. Its shape must be the input's: checked.
  void set(std::size_t i, Var grad) { results_[i] = grad; }

  // Filled by autograd; spans outlive the call. An unwanted or unsaved Var is null.
  Recorder* recorder_ = nullptr;
  const Op* op_ = nullptr;
  const Attrs* attrs_ = nullptr;
  RandomState random_;
  bool recorded_ = false;
  std::span<const Var> ins_, outs_, grads_;
  std::span<const Desc* const> in_descs_, out_descs_;
  std::span<const bool> wants_;
  std::span<Var> results_;

 private:
  static Var saved(std::span<const Var> vars, std::size_t i, const char* what);
};

const OpRecord& record_named(std::string_view name);  // throws Error if there is none

// op<"exp">(x); op<"sum">({x}, {{"axis", axes}}); the record is looked up once.
template <FixedString Name>
const OpRecord& record_of() {
  static const OpRecord& record = record_named(Name.view());
  return record;
}

Var call_op(const OpRecord& record, std::initializer_list<Var> in, std::initializer_list<AttrArg> attrs = {}, RandomState random = {});

template <FixedString Name>
Var op(std::same_as<Var> auto... in) {
  return call_op(record_of<Name>(), {in...});
}
template <FixedString Name>
Var op(std::initializer_list<Var> in, std::initializer_list<AttrArg> attrs, RandomState random = {}) {
  return call_op(record_of<Name>(), in, attrs, random);
}

Var operator+(Var a, Var b);
Var operator-(Var a, Var b);
Var operator*(Var a, Var b);
Var operator/(Var a, Var b);
Var operator-(Var a);
Var operator+(Var a, Scalar b);
Var operator*(Var a, Scalar b);

// Undoes broadcasting: sums `grad` over the axes along which `shape` was repeated.
Var sum_to(Var grad, const Shape& shape);

}  // namespace regrow
