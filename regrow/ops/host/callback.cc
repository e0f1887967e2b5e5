// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/callback.h"

#include <cstring>

namespace regrow::ops {
namespace {

int output_count(std::span<const Desc* const> in, const Attrs& attrs) {
  const auto& outputs = callback_of(attrs).outputs();
  return static_cast<int>(outputs ? outputs->size() : in.size());
}

void dtypes(std::span<const DType> in, const Attrs& attrs, std::span<DType> out) {
  const auto& outputs = callback_of(attrs).outputs();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = outputs ? (*outputs)[i].dtype : in[i];
}

void infer(const InferCall& call) {
  const auto& outputs = callback_of(call.attrs).outputs();
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    OutDesc& out = call.out[i];
    out.known = !outputs || (*outputs)[i].shape.has_value();
    if (!out.known) continue;
    out.shape = outputs ? *(*outputs)[i].shape : call[i].shape;
    out.strides = contiguous_strides(out.shape);
  }
}

void compute(const ComputeCall& call) {
  std::vector<HostArray> in;
  std::vector<const Desc*> promised;
  for (const View& view : call.in) in.push_back(HostArray::gather(view));
  for (const View& view : call.out) promised.push_back(view.desc);
  const std::vector<HostArray> values = callback_of(call.attrs).call(in, promised);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i].bytes() != 0) std::memcpy(call.out[i].data, values[i].data(), values[i].bytes());
}

}  // namespace

OpDef callback() {
  return {
      .doc = "What a function of the user returns for host copies of xs; made by callback_op. Runs in order and is never run again.",
      .inputs = {"xs..."},
      .output_count = output_count,
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .replay = Replay::never,
      .fails_by_value = true,
  };
}

}  // namespace regrow::ops
