// SPDX-License-Identifier: Apache-2.0
// What the engine knows of an operator: one record, in one file, from which the typed front door, the docs, `regrow ops`, the
// bindings and the operator sweep are derived. Records are immutable and live as long as the process. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "regrow/kernels/tile.h"
#include "regrow/ops/attrs.h"
#include "regrow/tensor/view.h"

namespace regrow {

class Gradient;

// May the engine compute it again? seeded: yes, from its random state. never: it has effects or reads what may have changed.
enum class Replay : std::uint8_t { pure, seeded, never };

// The stream position of a random operation. Its numbers are a pure function of (key, counter, element index): Philox 4x32-10.
struct RandomState {
  std::uint64_t key = 0;
  std::uint64_t counter = 0;
  friend bool operator==(const RandomState&, const RandomState&) = default;
};

// An output as `infer` describes it: new memory, or a view of an input (then strides and offset say which elements).
struct OutDesc : Desc {
  int view_of = -1;             // index of the input whose storage it shares; -1: its own
  std::int64_t view_offset = 0;  // of its element at index 0 from that input's, in elements

  OutDesc() = default;
  OutDesc(const Desc& desc) : Desc(desc) {}  // NOLINT: most outputs are plain
};

struct InferCall {
  std::span<const Desc* const> in;  // all of known shape
  const Attrs& attrs;
  std::span<OutDesc> out;           // to be filled; device and dtype are set already, from `dtypes`
  const Desc& operator[](std::size_t i) const { return *in[i]; }
};

struct ComputeCall {
  std::span<const View> in;
  std::span<const View> out;
  const Attrs& attrs;
  RandomState random;
  std::span<std::byte> workspace;  // 64-byte aligned, of the size that `workspace` asked for
};

struct CostCall {
  std::span<const Desc* const> in;
  std::span<const Desc* const> out;
  const Attrs& attrs;
};

struct Cost {
  double flops = 0;
  double bytes = 0;  // read and written
};

// What the sweep runs: shapes and types of the inputs, attributes, and the range that values are drawn from.
struct Sample {
  std::vector<Shape> inputs;
  std::vector<AttrArg> attrs = {};
  std::vector<DType> dtypes = {};  // empty: the sweep tries every type that the operator accepts
  double low = -2, high = 2;
  double tolerance = 0;            // of gradients against differences in f64, relative; 0: 1e-6
};

struct OpDef {
  std::string_view doc;                     // first sentence: what it returns
  std::vector<std::string_view> inputs;     // names; a trailing "xs..." takes any number
  std::vector<AttrSpec> attributes = {};
  std::vector<std::string_view> outputs = {"out"};

  // Number of outputs where it depends on the call (split, nonzero); null: outputs.size(). Needs known shapes.
  int (*output_count)(std::span<const Desc* const> in, const Attrs& attrs) = nullptr;
  // Types of the outputs; needs no shapes. Throws Error on types that the operator does not take.
  void (*dtypes)(std::span<const DType> in, const Attrs& attrs, std::span<DType> out) = nullptr;
  // Shapes, strides and views of the outputs. Throws Error, text "name: what is wrong: (3, 4) x (5, 6)".
  void (*infer)(const InferCall& call) = nullptr;
  // For operators whose shapes depend on values: their infer sets known = false, and this fills in dense descriptors from the values.
  void (*measure)(std::span<const View> in, const Attrs& attrs, std::span<OutDesc> out) = nullptr;

  // Exactly one of the two, except for pure views, which have neither.
  void (*compute)(const ComputeCall& call) = nullptr;
  // Elementwise: the kernel for these input types. Such operators fuse with their neighbours and may write in place.
  kernels::TileKernel (*tile)(std::span<const DType> in, const Attrs& attrs) = nullptr;

  std::size_t (*workspace)(const CostCall& call) = nullptr;  // bytes; null: none
  Cost (*cost)(const CostCall& call) = nullptr;              // null: bytes in and out, one operation an output element

  Replay replay = Replay::pure;
  bool fails_by_value = false;  // compute may throw because of what the values are (a bad index): no in-place, no fusion
  bool autocasts = false;       // in the scope of an Autocast, inputs of f32 are rounded to the scope's type first (frontend/autocast.h)
  bool state = false;           // an update whose outputs replace its inputs (optimizer step, running statistics)
  // Bit i of reuse[k]: output k may be written over input i if their layouts are equal (implied by tile, for output 0).
  std::array<std::uint32_t, 4> reuse = {};

  // The gradient, written in the algebra of var.h, and just which values it reads (bit i: input i, output i). Null: not differentiable.
  void (*gradient)(Gradient& g) = nullptr;
  std::uint32_t saves_inputs = 0;
  std::uint32_t saves_outputs = 0;

  std::vector<Sample> samples = {};
};

// A definition under the name of the file that holds it.
struct OpRecord : OpDef {
  std::string_view name;
  std::string_view family;
  std::uint32_t index = 0;  // in all_ops()

  bool variadic() const noexcept { return !inputs.empty() && inputs.back().ends_with("..."); }
};

std::span<const OpRecord> all_ops();                 // ordered by family and name
const OpRecord* find_op(std::string_view name);      // null if there is none

// An operator with its attributes: what is applied.
class Op {
 public:
  explicit Op(const OpRecord& record, Attrs attrs = {}) : record_(&record), attrs_(std::move(attrs)) {}
  const OpRecord& record() const noexcept { return *record_; }
  const Attrs& attrs() const noexcept { return attrs_; }
  std::string_view name() const noexcept { return record_->name; }

 private:
  const OpRecord* record_;
  Attrs attrs_;
};

// op("sum", {{"axis", Axes{0}}, {"keepdims", false}}). Throws Error on an unknown operator or attribute.
Op op(std::string_view name, std::initializer_list<AttrArg> attrs = {}, Site site = Site::here());

// The result of inference on one call, with the checks that hold for every operator: number of inputs, one device, output count.
// `out` is filled. Throws Error beginning with the operator's name. Inputs of unknown shape give outputs of unknown shape.
void infer(const Op& op, std::span<const Desc* const> in, std::vector<OutDesc>& out);
// Runs the kernel, whichever kind it is. Throws what compute throws.
void compute(const Op& op, std::span<const View> in, std::span<const View> out, RandomState random, std::span<std::byte> workspace);
std::size_t workspace_bytes(const Op& op, std::span<const Desc* const> in, std::span<const Desc* const> out);
Cost cost_of(const Op& op, std::span<const Desc* const> in, std::span<const Desc* const> out);
std::string signature(const OpRecord& record);       // "sum(x, *, axis=all, keepdims=false)"

}  // namespace regrow
