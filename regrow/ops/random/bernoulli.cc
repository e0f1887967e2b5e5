// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/create.h"
#include "regrow/ops/random.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  random::word_threshold(call.attrs.get<double>("p"));
  create::named_shape(call);
}

void compute(const ComputeCall& call) {
  const std::uint64_t threshold = random::word_threshold(call.attrs.get<double>("p"));
  const View& out = call.out[0];
  random::for_tiles(out.count(), [&](std::uint64_t first, std::size_t n) {
    std::uint32_t words[random::tile];
    std::uint8_t values[random::tile];
    kernels::random_words(random::stream(call.random), first, n, words);
    for (std::size_t i = 0; i < n; ++i) values[i] = words[i] < threshold;
    random::store(values, out, first, n);
  });
}

}  // namespace

OpDef bernoulli() {
  return {.doc = "Random truth values, each true with probability p (Philox 4x32-10).",
          .inputs = {},
          .attributes = {create::shape_attr(),
                         {.name = "p", .type = AttrType::real, .fallback = 0.5, .doc = "How likely true is, or 1."},
                         create::dtype_attr(DType::boolean),
                         create::device_attr()},
          .dtypes = create::named_dtype,
          .infer = infer,
          .compute = compute,
          .replay = Replay::seeded,
          .samples = {{.inputs = {}, .attrs = {{"shape", Dims{3, 5}}}},
                      {.inputs = {}, .attrs = {{"shape", Dims{1030}}, {"p", 0.25}, {"dtype", DType::f32}}}}};
}

}  // namespace regrow::ops
