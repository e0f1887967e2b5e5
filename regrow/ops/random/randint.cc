// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/create.h"
#include "regrow/ops/random.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType>, const Attrs& attrs, std::span<DType> out) {
  out[0] = attrs.get<DType>("dtype");
  require(is_integer(out[0]), "is not defined for {}: only for integers", name_of(out[0]));
}

void infer(const InferCall& call) {
  const auto low = call.attrs.get<std::int64_t>("low"), high = call.attrs.get<std::int64_t>("high");
  require(low < high, "low must be below high: {} and {}", low, high);
  alignas(8) std::byte element[8];
  write_scalar(Scalar(low), call.out[0].dtype, element);  // throws where it does not fit
  write_scalar(Scalar(high - 1), call.out[0].dtype, element);
  create::named_shape(call);
}

// The upper half of a 128-bit product: no number of the range is likelier than another by more than range / 2^64.
void compute(const ComputeCall& call) {
  const auto low = static_cast<std::uint64_t>(call.attrs.get<std::int64_t>("low"));
  const std::uint64_t range = static_cast<std::uint64_t>(call.attrs.get<std::int64_t>("high")) - low;
  const View& out = call.out[0];
  random::for_tiles(out.count(), [&](std::uint64_t first, std::size_t n) {
    std::uint32_t words[2 * random::tile];
    std::int64_t values[random::tile];
    kernels::random_words(random::stream(call.random), 2 * first, 2 * n, words);
    for (std::size_t i = 0; i < n; ++i) {
      __extension__ using Wide = unsigned __int128;
      const auto offset = static_cast<std::uint64_t>(Wide{kernels::joined(words + 2 * i)} * range >> 64);
      values[i] = static_cast<std::int64_t>(low + offset);
    }
    random::store(values, out, first, n);
  });
}

}  // namespace

OpDef randint() {
  return {.doc = "Random integers, each of [low, high) equally likely (Philox 4x32-10).",
          .inputs = {},
          .attributes = {create::shape_attr(),
                         {.name = "low", .type = AttrType::integer, .doc = "The least number."},
                         {.name = "high", .type = AttrType::integer, .doc = "One above the largest."},
                         create::dtype_attr(DType::i64),
                         create::device_attr()},
          .dtypes = dtypes,
          .infer = infer,
          .compute = compute,
          .replay = Replay::seeded,
          .samples = {{.inputs = {}, .attrs = {{"shape", Dims{3, 5}}, {"low", -3}, {"high", 9}}},
                      {.inputs = {}, .attrs = {{"shape", Dims{0}}, {"low", 0}, {"high", 256}, {"dtype", DType::u8}}}}};
}

}  // namespace regrow::ops
