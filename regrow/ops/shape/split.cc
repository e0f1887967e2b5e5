// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "regrow/ops/shapes.h"
#include "regrow/ops/var.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

// One size stands for as many parts as there are, the last one what is left.
std::int64_t part_size(const Dims& sizes, std::int64_t length) {
  require(sizes[0] > 0 || length == 0, "parts of size {} do not fill {}", sizes[0], length);
  return std::max<std::int64_t>(sizes[0], 1);
}

int count(std::span<const Desc* const> in, const Attrs& attrs) {
  const Dims& sizes = attrs.get<Dims>("sizes");
  require(!sizes.empty(), "a tensor is cut into at least one part");
  if (sizes.size() > 1) return static_cast<int>(sizes.size());
  const std::int64_t length = in[0]->shape[axis_of(*in[0], attrs)], size = part_size(sizes, length);
  return static_cast<int>(std::max<std::int64_t>((length + size - 1) / size, 1));
}

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  for (DType& dtype : out) dtype = in[0];
}

void infer(const InferCall& call) {
  const Desc& x = call[0];
  const std::size_t axis = axis_of(x, call.attrs);
  const Dims& sizes = call.attrs.get<Dims>("sizes");
  const std::int64_t length = x.shape[axis];
  check_sizes(sizes);
  require(sizes.size() == 1 || std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) == length,
          "the parts {} do not add up to axis {} of {}", sizes, axis, x.shape);
  std::int64_t at = 0;
  for (std::size_t k = 0; k < call.out.size(); ++k) {
    OutDesc& out = call.out[k];
    out.shape = x.shape;
    out.shape[axis] = sizes.size() > 1 ? sizes[k] : std::min(part_size(sizes, length), length - at);
    out.strides = x.strides;
    out.view_of = 0;
    out.view_offset = at * x.strides[axis];
    at += out.shape[axis];
  }
}

// The gradients of all parts, joined once; zeros where nothing flowed.
void gradient(Gradient& g) {
  const std::size_t count = g.grads_.size();
  std::vector<Var> parts;
  Var any;
  for (std::size_t k = 0; k < count; ++k)
    if (g.has_grad(k)) any = g.grad(k);
  for (std::size_t k = 0; k < count; ++k)
    parts.push_back(g.has_grad(k) ? g.grad(k)
                                  : op<"broadcast_to">({g.recorder().constant(0, g.in_desc(0).dtype, any)},
                                                       {{"shape", g.out_desc(k).shape}}));
  Var joined;
  g.recorder().call(regrow::op("concat", {{"axis", g.attrs().value("axis")}}), parts, {}, {&joined, 1});
  g.set(0, joined);
}

}  // namespace

OpDef split() {
  return {
      .doc = "The parts of x that an axis is cut into, of these sizes. Views: nothing is copied.",
      .inputs = {"x"},
      .attributes =
          {{.name = "sizes",
            .type = AttrType::dims,
            .doc = "Of the parts along the axis. One alone: of every part, the last one is what is left."},
           {.name = "axis", .type = AttrType::integer, .fallback = std::int64_t{0}, .doc = "The axis; may be negative."}},
      .outputs = {"parts..."},
      .output_count = count,
      .dtypes = dtypes,
      .infer = infer,
      .gradient = gradient,
      .samples = {{.inputs = {{5, 4}}, .attrs = {{"sizes", Dims{2, 0, 3}}}},
                  {.inputs = {{7}}, .attrs = {{"sizes", Dims{3}}}},
                  {.inputs = {{2, 3, 6}}, .attrs = {{"sizes", Dims{1, 4, 1}}, {"axis", -1}}}},
  };
}

}  // namespace regrow::ops
