// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/order.h"
#include "regrow/ops/create.h"
#include "regrow/ops/random.h"

namespace regrow::ops {
namespace {

void infer(const InferCall& call) {
  const std::int64_t count = call.attrs.get<std::int64_t>("count");
  require(count >= 0, "there cannot be {} numbers", count);
  call.out[0].shape = {count};
  call.out[0].strides = {1};
}

Desc keys_of(std::int64_t count) { return Desc::dense(DType::u64, {count}); }

// Each number gets 64 random bits; their order is the permutation. Where two are equal, the smaller number is first.
void compute(const ComputeCall& call) {
  const View& out = call.out[0];
  const Desc keys = keys_of(out.count());
  auto* key = reinterpret_cast<std::uint64_t*>(call.workspace.data());
  random::for_tiles(out.count(), [&](std::uint64_t first, std::size_t n) {
    std::uint32_t words[2 * random::tile];
    kernels::random_words(random::stream(call.random), 2 * first, 2 * n, words);
    for (std::size_t i = 0; i < n; ++i) key[first + i] = kernels::joined(words + 2 * i);
  });
  kernels::sort({&keys, call.workspace.data()}, {}, nullptr, &out, call.workspace.subspan(keys.bytes()));
}

}  // namespace

OpDef permutation() {
  return {.doc = "The numbers 0, 1, … count - 1 (i64) in random order, every order equally likely (Philox 4x32-10).",
          .inputs = {},
          .attributes = {{.name = "count", .doc = "How many."}, create::device_attr()},
          .dtypes = [](std::span<const DType>, const Attrs&, std::span<DType> out) { out[0] = DType::i64; },
          .infer = infer,
          .compute = compute,
          .workspace =
              [](const CostCall& call) {
                const Desc keys = keys_of(call.out[0]->count());
                return keys.bytes() + kernels::sort_workspace(keys, 0);
              },
          .replay = Replay::seeded,
          .samples = {{.inputs = {}, .attrs = {{"count", 10}}},
                      {.inputs = {}, .attrs = {{"count", 3000}}},
                      {.inputs = {}, .attrs = {{"count", 0}}}}};
}

}  // namespace regrow::ops
