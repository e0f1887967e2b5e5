// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "regrow/kernels/elementwise.h"
#include "regrow/ops/create.h"
#include "regrow/ops/shapes.h"

namespace regrow::ops {
namespace {

struct Range {
  bool whole;  // counted in integers
  std::int64_t first = 0, step = 0;
  double real_first = 0, real_step = 0;
  std::int64_t count = 0;
};

bool whole(const Scalar& value) {
  if (value.kind == Scalar::Kind::unsigned_integer) return value.unsigned_integer <= std::uint64_t{INT64_MAX};
  return value.kind != Scalar::Kind::floating;
}

Range range_of(const Attrs& attrs) {
  const Scalar &start = attrs.get<Scalar>("start"), &stop = attrs.get<Scalar>("stop"), &step = attrs.get<Scalar>("step");
  Range range{.whole = whole(start) && whole(stop) && whole(step)};
  if (range.whole) {
    range.first = start.integer, range.step = step.integer;
    require(range.step != 0, "the step must not be 0");
    const bool up = range.step > 0;
    if (up ? stop.integer <= start.integer : stop.integer >= start.integer) return range;
    // Distances in unsigned arithmetic: they may exceed the signed range.
    const std::uint64_t from = static_cast<std::uint64_t>(start.integer), to = static_cast<std::uint64_t>(stop.integer);
    const std::uint64_t distance = up ? to - from : from - to;
    const std::uint64_t stride =
        up ? static_cast<std::uint64_t>(range.step) : std::uint64_t{0} - static_cast<std::uint64_t>(range.step);
    const std::uint64_t count = (distance - 1) / stride + 1;
    require(count <= std::uint64_t{INT64_MAX}, "too many elements");
    range.count = static_cast<std::int64_t>(count);
    return range;
  }
  range.real_first = start.as_double(), range.real_step = step.as_double();
  require(range.real_step != 0, "the step must not be 0");
  const double count = std::ceil((stop.as_double() - range.real_first) / range.real_step);
  require(std::isfinite(count) && count < 0x1p62, "from {} to {} in steps of {} is not a finite number of elements",
          to_string(start), to_string(stop), to_string(step));
  range.count = static_cast<std::int64_t>(std::max(0.0, count));
  return range;
}

void dtypes(std::span<const DType>, const Attrs& attrs, std::span<DType> out) {
  const bool integers = whole(attrs.get<Scalar>("start")) && whole(attrs.get<Scalar>("stop")) && whole(attrs.get<Scalar>("step"));
  out[0] = attrs.has("dtype") ? attrs.get<DType>("dtype") : integers ? DType::i64 : DType::f32;
  require(out[0] != DType::boolean, "is not defined for bool");
}

// first + i step; of integers modulo 2^64: the product may exceed the range where the sum does not.
double number(double first, double step, std::int64_t i) { return first + static_cast<double>(i) * step; }
std::int64_t number(std::int64_t first, std::int64_t step, std::int64_t i) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(first) + static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(step));
}

void infer(const InferCall& call) {
  const Range range = range_of(call.attrs);
  OutDesc& out = call.out[0];
  out.shape = {range.count};
  check_sizes(out.shape);
  out.strides = contiguous_strides(out.shape);
  if (range.count == 0 || is_floating(out.dtype)) return;
  alignas(8) std::byte element[8];
  const std::int64_t steps = range.count - 1;  // the ends must fit; what is between them does
  write_scalar(range.whole ? Scalar(range.first) : Scalar(range.real_first), out.dtype, element);
  write_scalar(range.whole ? Scalar(number(range.first, range.step, steps))
                           : Scalar(number(range.real_first, range.real_step, steps)),
               out.dtype, element);
}

template <class T>
void fill(const View& out, T first, T step) {
  T values[kernels::tile_size];
  const void* from = values;
  const kernels::TileFn convert = kernels::convert(dtype_of<T>(), out.dtype()).fn;
  const std::int64_t count = out.count();
  for (std::int64_t at = 0; at < count; at += static_cast<std::int64_t>(kernels::tile_size)) {
    const auto n = std::min<std::int64_t>(count - at, kernels::tile_size);
    for (std::int64_t i = 0; i < n; ++i) values[i] = number(first, step, at + i);
    convert(&from, out.data + static_cast<std::size_t>(at) * size_of(out.dtype()), static_cast<std::size_t>(n));
  }
}

void compute(const ComputeCall& call) {
  const Range range = range_of(call.attrs);
  if (range.whole)
    fill(call.out[0], range.first, range.step);
  else
    fill(call.out[0], range.real_first, range.real_step);
}

}  // namespace

OpDef arange() {
  return {.doc = "Numbers from start, in steps, up to but without stop: element i is start + i step, rounded once.",
          .inputs = {},
          .attributes = {{.name = "start", .type = AttrType::scalar, .fallback = Scalar(0), .doc = "The first number."},
                         {.name = "stop", .type = AttrType::scalar, .doc = "Where it ends."},
                         {.name = "step", .type = AttrType::scalar, .fallback = Scalar(1), .doc = "From one to the next; not 0."},
                         create::optional_dtype_attr(
                             "The type of the elements; by default i64 if all three are integers, otherwise f32."),
                         create::device_attr()},
          .dtypes = dtypes,
          .infer = infer,
          .compute = compute,
          .samples = {
              {.inputs = {}, .attrs = {{"stop", Scalar(5)}}},
              {.inputs = {}, .attrs = {{"start", Scalar(3)}, {"stop", Scalar(-4)}, {"step", Scalar(-2)}, {"dtype", DType::f16}}},
              {.inputs = {}, .attrs = {{"start", Scalar(0.5)}, {"stop", Scalar(0.25)}}}}};
}

}  // namespace regrow::ops
