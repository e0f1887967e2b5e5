// SPDX-License-Identifier: Apache-2.0
// Where errors of values appear at each async level, and that the engine goes on afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "regrow/base/units.h"
#include "regrow/engine/default_channel.h"
#include "regrow/frontend/apply.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"
#include "regrow/frontend/grad.h"
#include "regrow/ops.h"
#include "regrow/runtime/callback.h"

namespace regrow {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

template <class F>
std::string message_of(F&& run) {
  try {
    run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

// The option as it was, whatever the test does.
class AtLevel {
 public:
  explicit AtLevel(std::size_t level) : before_(get_option("async_level")) { set_option("async_level", level); }
  ~AtLevel() { set_option("async_level", before_); }

 private:
  std::size_t before_;
};

TEST(ErrorsOfValues, AreThrownWhereTheLevelSays) {
  const Tensor x = ones({3}).requires_grad();
  for (const std::size_t level : {0, 1, 2}) {
    const AtLevel guard(level);
    Tensor bad;
    const std::string issued = message_of([&] { bad = take(x, tensor({99})); });
    const std::string waited = message_of([&] {
      if (bad.defined()) sum(bad).wait();
    });
    EXPECT_THAT(level == 0 ? issued : waited, AllOf(HasSubstr("take"), HasSubstr("99"), HasSubstr("error_test.cc"))) << level;
    EXPECT_EQ(bad.defined(), level != 0);
    EXPECT_EQ(message_of([] { sync(); }), "");
  }
}

TEST(ErrorsOfValues, FlowBackwardAsTheOriginalError) {
  const Tensor x = ones({3}).requires_grad();
  const Tensor bad = take(x, tensor({99}));
  sum(bad * bad).backward();
  EXPECT_THAT(message_of([&] { x.grad().wait(); }), AllOf(HasSubstr("take"), HasSubstr("99")));
  x.zero_grad();
  sum(x * 2).backward();
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(2, 2, 2));
  EXPECT_EQ(message_of([] { sync(); }), "");
}

TEST(ErrorsOfValues, OfAShapeThatDependsOnDataPoisonWhatUsesIt) {
  const Tensor x = ones({3});
  const Tensor bad = take(tensor({true, false, true}), tensor({0, 1, 99}));
  const Tensor chosen = masked_select(x, bad);
  EXPECT_THAT(message_of([&] { chosen.shape(); }), HasSubstr("take"));
  EXPECT_EQ(message_of([] { sync(); }), "");
}

TEST(Callbacks, HaveNoGradientAndSayWho) {
  const Op twice = callback_op("twice", [](std::span<const HostArray> in) {
    std::vector<float> values = in[0].to_vector<float>();
    for (float& value : values) value *= 2;
    return std::vector{HostArray::from(values, in[0].shape())};
  });
  const Tensor x = ones({3}).requires_grad();
  const Tensor y = apply(twice, {x}).at(0);
  EXPECT_THAT(y.to_vector<float>(), ElementsAre(2, 2, 2));
  EXPECT_THAT(message_of([&] { sum(y).backward(); }), AllOf(HasSubstr("callback"), HasSubstr("not differentiable")));
  sum(y.detach() * x).backward();
  EXPECT_THAT(x.grad().to_vector<float>(), ElementsAre(2, 2, 2));
}

// A literal whose memory was refused is tried again when it is next written. (On a device of its own, where nothing has room.)
TEST(Budget, LiteralsRecoverFromARefusal) {
  const Device device(5);
  const Tensor held = tensor(std::vector<float>(1 << 16, 3.f), {.device = device});
  held.wait();
  try {
    set_memory_budget(1, device);
    FAIL();
  } catch (const OutOfBudget& error) {
    set_memory_budget(error.smallest_budget(), device);
  }
  auto scaled = [&] { return (held * 0.7654321f)[0].item<float>(); };
  EXPECT_THAT(message_of(scaled), HasSubstr("put"));
  clear_memory_budget(device);
  EXPECT_EQ(message_of([] { sync(); }), "");
  EXPECT_EQ(scaled(), 3.f * 0.7654321f);
}

TEST(Budget, ARefusedBackwardLeavesGradientsAndGraphUsable) {
  sync();
  const Tensor x = ones({256, 256}).requires_grad();
  const Tensor loss = sum(exp(x * x));
  loss.wait();
  set_option("enable_auto_evict", 0);  // else it would fit
  set_memory_budget(memory().live_bytes + KiB(64));
  std::string refused = message_of([&] {
    loss.backward({.retain_graph = true});
    x.grad().wait();
  });
  EXPECT_THAT(refused, HasSubstr("budget"));
  clear_memory_budget();
  set_option("enable_auto_evict", 1);
  x.zero_grad();
  loss.backward();
  EXPECT_NEAR((x.grad()[{0, 0}].item<float>()), 2 * std::exp(1.f), 1e-5);
}

}  // namespace
}  // namespace regrow
