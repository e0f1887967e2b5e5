// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "regrow/kernels/elementwise.h"
#include "regrow/ops/create.h"

namespace regrow::ops {
namespace {

DType type_of(const Attrs& attrs) {
  if (attrs.has("dtype")) return attrs.get<DType>("dtype");
  const DType type = attrs.get<Scalar>("value").default_dtype();
  return type == DType::f64 ? DType::f32 : type;
}

void dtypes(std::span<const DType>, const Attrs& attrs, std::span<DType> out) {
  out[0] = type_of(attrs);
  alignas(8) std::byte element[8];
  write_scalar(attrs.get<Scalar>("value"), out[0], element);  // throws where the value does not fit
}

void compute(const ComputeCall& call) {
  alignas(8) std::byte element[8];
  const Desc single = Desc::dense(call.out[0].dtype(), {});
  write_scalar(call.attrs.get<Scalar>("value"), single.dtype, element);
  const View value{&single, element};
  kernels::run_tile(kernels::convert(single.dtype, single.dtype), {&value, 1}, call.out[0]);
}

}  // namespace

OpDef full() {
  return {
      .doc = "A tensor whose elements all are `value`.",
      .inputs = {},
      .attributes = {create::shape_attr(),
                     {.name = "value", .type = AttrType::scalar, .doc = "Every element."},
                     create::optional_dtype_attr("The type of the elements; by default bool, i64, u64 or f32, after the value."),
                     create::device_attr()},
      .dtypes = dtypes,
      .infer = create::named_shape,
      .compute = compute,
      .samples = {{.inputs = {}, .attrs = {{"shape", Dims{2, 3}}, {"value", Scalar(1.5)}}},
                  {.inputs = {}, .attrs = {{"shape", Dims{}}, {"value", Scalar(7)}, {"dtype", DType::u8}}},
                  {.inputs = {}, .attrs = {{"shape", Dims{0, 3}}, {"value", Scalar(true)}}}}};
}

}  // namespace regrow::ops
