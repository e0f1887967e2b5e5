// SPDX-License-Identifier: Apache-2.0
// Faults that users of other engines reported of values that are computed again or read back. The numbers are those of docs/faults.md.
// Intermediate values are dropped, or swapped out, between the forward and the backward pass: nothing may change by it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "regrow/engine/default_channel.h"
#include "regrow/frontend/autocast.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"
#include "regrow/frontend/grad.h"
#include "regrow/ops.h"

namespace regrow {
namespace {

using testing::Each;

std::vector<double> numbers(const Tensor& x) { return x.to_vector<double>(); }
Tensor waves(const Shape& shape) {
  return reshape(sin(arange(element_count(shape), {.dtype = DType::f64})), shape);
}
void forget(const std::vector<Tensor>& values) {
  for (const Tensor& each : values) {
    each.wait();
    each.drop();
  }
}
std::uint64_t recomputed() {
  sync();
  return memory().recomputed_ops;
}

// B064: a view of a value that is changed afterwards.
TEST(Recomputed, AViewThatIsReboundKeepsTheGradientOfWhatItWasMadeOf) {
  const auto gradient = [](bool dropped) {
    const Tensor p = waves({4, 3}).requires_grad(), sums = waves({4, 3}) + p;
    Tensor part = sums[slice(0, none)];
    part = relu(part);
    if (dropped) forget({sums, part});
    sum(part * waves({4, 3})).backward();
    return numbers(p.grad());
  };
  EXPECT_EQ(gradient(true), gradient(false));
}

// B065: of a single value an instance, the normalized is 0 whatever the input: its gradient is 0, and is there.
TEST(Recomputed, TheGradientOfNormalizedSinglesIsZero) {
  const Tensor x = ones({3, 2, 1}, {.dtype = DType::f64}).requires_grad(), one = ones({2}, {.dtype = DType::f64});
  const Tensor normalized = group_norm(x, one, zeros({2}, {.dtype = DType::f64}), 2), out = relu(normalized);
  forget({normalized, out});
  sum(out).backward();
  EXPECT_EQ(x.grad().shape(), (Shape{3, 2, 1}));
  EXPECT_THAT(numbers(x.grad()), Each(0));
}

// B066: the input needs no gradient, a parameter on the way does.
TEST(Recomputed, ParametersBehindAFrozenInputHaveTheirGradient) {
  const Tensor frozen = waves({3, 4}), w = waves({4, 2}).requires_grad();
  const Tensor product = matmul(frozen, w), out = tanh(product);
  EXPECT_TRUE(out.needs_grad());
  forget({product, out});
  sum(product).backward();
  const std::vector<double> columns = numbers(sum(frozen, {.axis = 0})), got = numbers(w.grad());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], columns[i / 2], 1e-15) << i;
}

// B067: two passes over a graph that is kept; what was dropped runs again once, and not for the second pass.
TEST(Recomputed, TwoPassesOverARetainedGraphGiveTheSameAndComputeOnce) {
  const Tensor x = waves({5}).requires_grad();
  const Tensor a = exp(x);
  a.wait();  // not one operation with the next
  const Tensor b = tanh(a), c = sum(b * b);
  const std::vector<double> plain = numbers(grad({c}, {x}, {.retain_graph = true})[0]);
  forget({a, b});
  const std::uint64_t before = recomputed();
  const std::vector<double> first = numbers(grad({c}, {x}, {.retain_graph = true})[0]);
  const std::uint64_t between = recomputed();
  const std::vector<double> second = numbers(grad({c}, {x})[0]);
  EXPECT_EQ(first, plain);
  EXPECT_EQ(second, plain);
  EXPECT_EQ(between - before, 2u) << "exp and tanh";
  EXPECT_EQ(recomputed(), between);
}

// B068, B069: recomputed outside of the scope of mixed precision in which it was computed.
TEST(Recomputed, WhatAnAutocastMadeComesBackInItsType) {
  const Tensor x = waves({6, 8}).astype(DType::f32), w = waves({8, 8}).astype(DType::f32).requires_grad();
  const auto run = [&](bool dropped) {
    Tensor h, out;
    {
      const Autocast scope(DType::bf16);
      h = matmul(x, w);
      out = matmul(h, w);
    }
    const HostArray first = out.host();
    if (dropped) forget({h, out});
    EXPECT_EQ(h.host().dtype(), DType::bf16);
    const HostArray again = out.host();
    EXPECT_EQ(again.dtype(), DType::bf16);
    EXPECT_EQ(std::memcmp(again.data(), first.data(), first.bytes()), 0);
    return grad({sum(out.astype(DType::f32))}, {w})[0].to_vector<float>();
  };
  EXPECT_EQ(run(true), run(false));
}

// B059, B071: the state of the random numbers after a step does not depend on what was recomputed; set back, it gives the same again.
TEST(Recomputed, RandomNumbersGoOnWhereTheyWere) {
  Channel& channel = default_channel();
  const RandomState start = channel.random_state();
  const auto step = [&](bool dropped) {
    channel.set_random_state(start);
    const Tensor x = waves({100}).requires_grad();
    const Tensor kept = dropout(x, {.p = 0.5}), out = kept * kept;
    if (dropped) forget({kept, out});
    sum(out).backward();
    std::vector<double> all = numbers(x.grad());
    EXPECT_EQ(channel.random_state(), (RandomState{start.key, start.counter + 1}));
    all.push_back(normal({}, {.dtype = DType::f64}).item<double>());
    return all;
  };
  EXPECT_EQ(step(true), step(false));
}

// B077: a saved view of a value that is bound anew before the backward pass: plain, dropped, swapped out and read back.
TEST(Recomputed, ASavedViewIsOfTheValueAsItWas) {
  Channel& channel = default_channel();
  const std::size_t before = channel.get_option("enable_swap");
  channel.set_option("enable_swap", 1);
  const auto gradient = [&](const std::function<void(const Tensor&)>& disturb) {
    Tensor x = waves({4, 3});
    const Tensor w = waves({4, 2}).requires_grad(), turned = transpose(x), y = matmul(turned, w);
    y.wait();
    disturb(turned);
    x += 1;
    x[0] = 7;
    sum(y).backward();
    return numbers(w.grad());
  };
  const std::vector<double> rows = numbers(sum(waves({4, 3}), {.axis = 1})), plain = gradient([](const Tensor&) {});
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(plain[i], rows[i / 2], 1e-15) << i;
  EXPECT_EQ(gradient([](const Tensor& t) { t.drop(); }), plain);
  EXPECT_EQ(gradient([&](const Tensor& t) { channel.swap_out(t.handle()); }), plain);
  EXPECT_EQ(gradient([&](const Tensor& t) { channel.swap_out(t.handle()), channel.swap_in(t.handle()); }), plain);
  channel.set_option("enable_swap", before);
}

// B075: a thousand operations that were dropped whole come back in a few tensors of memory, and by no recursion.
TEST(Recomputed, ALongChainComesBackInTheMemoryOfAFew) {
  constexpr std::size_t tensor_bytes = std::size_t{1} << 18;
  sync();
  Tensor at = full({1 << 15}, 1.0);
  std::vector<Tensor> chain;
  for (int i = 0; i < 1000; ++i) {
    at = at * 1.0009765625 - 0.0009765625;  // 1 + 1/1024: stays 1, exactly
    at.wait();
    at.drop();
    chain.push_back(at);
  }
  sync();
  reset_peak_memory();
  const std::size_t before = memory().live_bytes;
  EXPECT_THAT(numbers(chain.back()[slice(0, 3)]), Each(1.0));
  EXPECT_GE(memory().recomputed_ops, 1000u);
  EXPECT_LE(memory().peak_bytes, before + 4 * tensor_bytes);
}

}  // namespace
}  // namespace regrow
