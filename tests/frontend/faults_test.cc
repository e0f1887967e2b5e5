// SPDX-License-Identifier: Apache-2.0
// Faults that users of other engines reported, tried on tensors. The numbers are those of docs/faults.md; expected values by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <sstream>
#include <thread>

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
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
std::vector<double> numbers(const Tensor& x) { return x.to_vector<double>(); }
Tensor leaf(std::initializer_list<Literal> values) { return tensor(values, {.dtype = DType::f64}).requires_grad(); }

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

std::size_t live() {
  sync();
  return memory().live_bytes;
}
constexpr std::size_t constants = 1024;  // literals, which the channel keeps

// B008: before anything is queued.
TEST(Faults, NegativeSizesAreRefusedAtTheCall) {
  const std::size_t before = memory().operators;
  for (const Shape& shape : {Shape{-1}, Shape{2, -3}}) {
    for (const std::function<Tensor()>& make : std::vector<std::function<Tensor()>>{
             [&] { return zeros(shape); }, [&] { return ones(shape); }, [&] { return full(shape, 2.0); }, [&] { return normal(shape); },
             [&] { return uniform(shape); }, [&] { return broadcast_to(tensor(1.f), shape); }}) {
      EXPECT_THAT(message_of([&] { make(); }), HasSubstr(std::to_string(shape.back())));
    }
  }
  sync();
  EXPECT_EQ(memory().operators, before);
}

// B009
TEST(Faults, ReductionsOfAnIntegerMatrixAlongEitherAxis) {
  const Tensor x = tensor({{1, 2}, {3, 4}});
  EXPECT_EQ(to_string(min(x, {.axis = 1})), to_string(tensor({1, 3})));
  EXPECT_EQ(to_string(argmin(x, {.axis = 1})), to_string(tensor({0, 0})));
  EXPECT_EQ(to_string(min(x, {.axis = 0})), to_string(tensor({1, 2})));
  EXPECT_EQ(to_string(argmin(x, {.axis = 0})), to_string(tensor({0, 0})));
}

// B014: in C++ an interrupt is an exception that leaves the loop.
TEST(Faults, AStepThatIsLeftByAnExceptionLeavesNothingBehind) {
  struct Interrupt {};
  const Tensor w = full({256, 256}, 0.5).requires_grad();
  sum(tanh(w)).backward();
  w.zero_grad();
  const std::size_t before = live();
  for (int i = 0; i < 10; ++i) {
    try {
      Tensor y = w;
      for (int k = 0; k < 8; ++k) {
        y = tanh(y * 2.0);
        if (k == i % 8) throw Interrupt();
      }
      sum(y).backward();
    } catch (const Interrupt&) {
    }
  }
  EXPECT_LE(live(), before + constants);
}

// B028: each thread trains a model of its own, and gets what it would get alone.
TEST(Faults, ThreadsTrainTheirOwnModelsAsIfAlone) {
  const auto train = [](int number) {
    Tensor w = full({8, 8}, 0.1 * (number + 1)).requires_grad();
    const Tensor x = reshape(arange(64, {.dtype = DType::f64}), {8, 8}) * 0.01;
    for (int step = 0; step < 15; ++step) {
      sum(square(tanh(matmul(x, w)) - 0.5)).backward();
      w = (w.detach() - w.grad() * 0.05).requires_grad();
    }
    return numbers(w.detach());
  };
  std::vector<std::vector<double>> alone(8), together(8);
  for (int t = 0; t < 8; ++t) alone[static_cast<std::size_t>(t)] = train(t);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) threads.emplace_back([&, t] { together[static_cast<std::size_t>(t)] = train(t); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
  EXPECT_NE(alone[0], alone[1]);
}

// B029
TEST(Faults, ThreadsShareAConstant) {
  const Tensor shared = full({100}, 2.0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 5; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) EXPECT_THAT(numbers(shared + full({100}, double(t))), Each(2.0 + t));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// B030
TEST(Faults, AfterAFailureExpressionsAreRight) {
  for (int i = 0; i < 5; ++i) {
    const Tensor bad = take(ones({40}), tensor({99}), {.axis = 0});
    const Tensor worse = exp(bad * 2.f) + 1.f;
    EXPECT_THROW(worse.wait(), AsyncError);
    EXPECT_THAT((ones({40}) * 2.f + 1.f).to_vector<float>(), Each(3.f));
  }
}

// B031: two expressions of the same form, told apart by which operand is used again.
TEST(Faults, ExpressionsOfOneFormAreToldApartByTheirOperands) {
  const Tensor a = full({64}, 3.0), b = full({64}, 5.0), c = full({64}, 2.0);
  for (int i = 0; i < 3; ++i) {
    const Tensor d = a + b, e = a + c;
    EXPECT_THAT(numbers(d * e - e), Each(35.0));
    EXPECT_THAT(numbers(d * e - d), Each(32.0));
  }
}

// B032
TEST(Faults, TheSumOfTwoProductsOfRepeatedVectors) {
  const Tensor v = tensor({-1.0, -0.5, 0.0, 0.5, 1.0});
  const Tensor rows = broadcast_to(reshape(v, {1, 5}), {5, 5}), columns = broadcast_to(reshape(v, {5, 1}), {5, 5});
  const std::vector<double> sum = numbers(rows * rows + columns * columns);
  EXPECT_THAT(std::vector<double>(sum.begin(), sum.begin() + 5), ElementsAre(2, 1.25, 1, 1.25, 2));
  EXPECT_EQ(sum, numbers(transpose(rows * rows + columns * columns)));
}

// B034: forcing a value on the way changes no bit.
TEST(Faults, ForcingIntermediatesChangesNothing) {
  const auto compute = [](int forced) {
    Tensor x = sin(arange(100, {.dtype = DType::f32}));
    for (int k = 0; k < 6; ++k) {
      x = k % 2 ? x * 1.1f + x : where(x > 0.f, x, x * 0.3f);
      if (k == forced) x.to_vector<float>();
    }
    return sum(x).item<float>();
  };
  for (int forced = 0; forced < 6; ++forced) EXPECT_EQ(compute(forced), compute(-1)) << forced;
}

// B036: printing and reading wait as well.
TEST(Faults, PrintingWaitsForTheValue) {
  const auto slow = [] {
    return apply(callback_op("slow", [](std::span<const HostArray> in) {
                   std::this_thread::sleep_for(std::chrono::milliseconds(20));
                   return std::vector<HostArray>(in.begin(), in.end());
                 }),
                 {tensor({1.5, 2.5})}).at(0) * 2;
  };
  std::ostringstream out;
  out << slow();
  EXPECT_THAT(out.str(), AllOf(HasSubstr("3"), HasSubstr("5")));
  EXPECT_EQ(sum(slow()).item<double>(), 8);
}

// B042: what the user put there cannot go (a leaf that an operator made can); a budget that it exceeds is an error and not a wish.
TEST(Faults, LeavesThatExceedTheBudgetAreAnError) {
  const Tensor parameters = tensor(std::vector<float>(1 << 18, 0.5f)).requires_grad();
  parameters.wait();
  EXPECT_THAT(message_of([] { set_memory_budget(KiB(512)); }), HasSubstr("held"));
  EXPECT_EQ(memory().budget_bytes, 0u);
}

// B047, B048: neither an assigned part nor a saved view makes a cycle.
TEST(Faults, AGraphThatIsNeverWalkedLeavesNothing) {
  const std::size_t before = live();
  for (int i = 0; i < 100; ++i) {
    const Tensor x = full({64, 64}, 0.5).requires_grad();
    Tensor z = x + 1;
    z[0] = relu(z[0]);
    const Tensor b = exp(z);
    const Tensor flat = b.reshape({-1});
    EXPECT_TRUE(flat.needs_grad());
  }
  EXPECT_LE(live(), before + constants);
}

// B049: elsewhere refused; here b is bound to a new value, and the leaf is as it was.
TEST(Faults, APartOfALeafThatIsChangedIsAValueOfItsOwn) {
  const Tensor a = leaf({1, 2, 3});
  Tensor b = a[1];
  b += 1;
  EXPECT_EQ(b.item<double>(), 3);
  EXPECT_THAT(numbers(a), ElementsAre(1, 2, 3));
  (b * b).backward();
  EXPECT_THAT(numbers(a.grad()), ElementsAre(0, 6, 0));
}

// B086: there is no overwriting scatter with indices; where updates meet they add up, and each has its own gradient.
TEST(Faults, UpdatesThatMeetAddUpAndAllHaveTheirGradient) {
  const Tensor x = leaf({0, 0, 0}), updates = leaf({3, 5});
  const Tensor y = scatter_add(x, tensor({1, 1}), updates);
  EXPECT_THAT(numbers(y), ElementsAre(0, 8, 0));
  sum(y * tensor({1.0, 2.0, 4.0})).backward();
  EXPECT_THAT(numbers(x.grad()), ElementsAre(1, 2, 4));
  EXPECT_THAT(numbers(updates.grad()), ElementsAre(2, 2));
}

// B088: of what reduces along an axis of length 0.
TEST(Faults, GradientsThroughReductionsOverNothingHaveTheShapeOfTheirInput) {
  for (const auto& reduce : std::vector<std::function<Tensor(const Tensor&)>>{
           [](const Tensor& x) { return sum(x, {.axis = 1}); }, [](const Tensor& x) { return prod(x, {.axis = 1}); },
           [](const Tensor& x) { return norm(x, {.axis = 1}); }}) {
    const Tensor x = zeros({2, 0}).requires_grad();
    sum(reduce(x)).backward();
    EXPECT_EQ(x.grad().shape(), (Shape{2, 0}));
  }
}

// As SciPy: there is no largest. The error names the function that was called, not one of its parts.
TEST(Faults, LogSumExpOfNothingIsItsOwnError) {
  const auto error_of = [](const Tensor& x, std::int64_t axis) -> std::string {
    try {
      log_sum_exp(x, {.axis = axis});
      return "none";
    } catch (const Error& error) {
      return error.message();
    }
  };
  EXPECT_EQ(error_of(zeros({2, 0}), 1), "log_sum_exp: nothing to reduce in (2, 0) over the axes (1,) (inputs: f32(2, 0))");
  EXPECT_THAT(error_of(zeros({2, 3}), 2), testing::StartsWith("log_sum_exp: "));
  EXPECT_EQ(log_sum_exp(zeros({0, 3}), {.axis = 1}).shape(), (Shape{0}));
  EXPECT_EQ(log_sum_exp(zeros({0, 0}), {.axis = 1}).shape(), (Shape{0}));
}

// B104: the chain rule gives 0 * nan where the product is masked, and the number where its factor is.
TEST(Faults, AMaskBeforeTheProductKeepsNanOutOfTheGradient) {
  const Tensor x = tensor({1.0, 2.0, nan});
  const Tensor b = leaf({3});
  const Tensor product = b * x;
  const Tensor masked_late = sum(where(isnan(product), 0.0, product));
  EXPECT_EQ(masked_late.item<double>(), 9);
  EXPECT_TRUE(std::isnan(grad(masked_late, {b}).at(0).item<double>()));
  const Tensor masked_early = sum(b * where(isnan(x), 0.0, x));
  EXPECT_EQ(masked_early.item<double>(), 9);
  EXPECT_EQ(grad(masked_early, {b}).at(0).item<double>(), 3);
}

// B103: along an axis, and beside numbers.
TEST(Faults, LogSumExpOfNothingButMinusInfinityHasAGradient) {
  const Tensor x = leaf({{-infinity, -infinity}, {-infinity, 0}});
  const Tensor y = log_sum_exp(x, {.axis = 1});
  EXPECT_THAT(numbers(y), ElementsAre(-infinity, 0));
  sum(y).backward();
  EXPECT_THAT(numbers(x.grad()), ElementsAre(0, 0, 0, 1));
}

}  // namespace
}  // namespace regrow
