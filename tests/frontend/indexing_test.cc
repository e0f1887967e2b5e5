// SPDX-License-Identifier: Apache-2.0
// What stands between the brackets beside integers and slices: index tensors and masks, alone and together. Expected values:
// NumPy 1.24. "B…" names a row of the catalogue of faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "regrow/engine/default_channel.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"
#include "regrow/frontend/grad.h"
#include "regrow/runtime/channel.h"

namespace regrow {
namespace {

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

std::vector<std::int64_t> integers(const Tensor& x) { return x.to_vector<std::int64_t>(); }
Tensor counting(const Shape& shape) { return arange(element_count(shape)).reshape(shape); }

TEST(IndexTensors, BroadcastAndStandWhereTheyStood) {
  const Tensor t = counting({3, 4, 5}), i = tensor({0, 2}), j = tensor({{1}, {3}});
  EXPECT_EQ((t[{i, j}].shape()), (Shape{2, 2, 5}));
  EXPECT_THAT(integers(t[{i, j}][{slice(none, none), slice(none, none), 0}]), ElementsAre(5, 45, 15, 55));
  EXPECT_EQ((t[{slice(none, none), j, i}].shape()), (Shape{3, 2, 2}));
  EXPECT_THAT(integers(t[{slice(none, none), j, i}]), ElementsAre(5, 7, 15, 17, 25, 27, 35, 37, 45, 47, 55, 57));
  EXPECT_EQ((t[{ellipsis, i}].shape()), (Shape{3, 4, 2}));
  EXPECT_THAT(integers(t[{slice(1, none), i, slice(none, none, -2)}]),
              ElementsAre(24, 22, 20, 34, 32, 30, 44, 42, 40, 54, 52, 50));
  EXPECT_THAT(integers(t[{slice(none, none), 0, i}]), ElementsAre(0, 2, 20, 22, 40, 42));
}

TEST(IndexTensors, ComeFirstWhereSomethingStandsBetween) {
  const Tensor t = counting({3, 4, 5}), i = tensor({0, 2}), j = tensor({{1}, {3}});
  EXPECT_EQ((t[{i, slice(none, none), j}].shape()), (Shape{2, 2, 4}));
  EXPECT_THAT(integers(t[{i, slice(none, none), j}]), ElementsAre(1, 6, 11, 16, 41, 46, 51, 56, 3, 8, 13, 18, 43, 48, 53, 58));
  EXPECT_EQ((t[{0, slice(none, none), i}].shape()), (Shape{2, 4}));  // an integer counts as an index tensor
  EXPECT_THAT(integers(t[{0, slice(none, none), i}]), ElementsAre(0, 5, 10, 15, 2, 7, 12, 17));
  EXPECT_THAT(integers(t[{slice(none, none), i, ellipsis, i}]),
              ElementsAre(0, 20, 40, 12, 32, 52));  // an ellipsis of no axes too
  EXPECT_THAT(integers(t[{i, none, j}][{ellipsis, 0}]), ElementsAre(5, 45, 15, 55));
}

TEST(Masks, StandForAsManyAxesAsTheyHave) {
  const Tensor t = counting({3, 4, 5}), i = tensor({0, 2}), m = tensor({true, false, true});
  EXPECT_EQ((t[{m, 1}].shape()), (Shape{2, 5}));
  EXPECT_THAT(integers(t[{m, i}][{ellipsis, 0}]), ElementsAre(0, 50));
  EXPECT_THAT(integers(t[{m, slice(none, none), i}]), ElementsAre(0, 5, 10, 15, 42, 47, 52, 57));
  EXPECT_THAT(integers(t[{slice(none, none), tensor({true, false, false, true}), 1}]), ElementsAre(1, 16, 21, 36, 41, 56));
  const Tensor two = counting({3, 4}) % 5 == 0;
  EXPECT_THAT(integers(t[{two, 0}]), ElementsAre(0, 25, 50));
  EXPECT_EQ(t[two].shape(), (Shape{3, 5}));
  EXPECT_EQ((t[{tensor(true), 0, 0}].shape()), (Shape{1, 5}));
  EXPECT_THAT(message_of([&] { t[{slice(none, none), m}]; }), HasSubstr("a mask with 3 elements along axis 1 of size 4"));
  EXPECT_THAT(message_of([&] { t[{true, i}]; }), HasSubstr("beside an index tensor"));
}

TEST(IndexTensors, AssignElementByElement) {
  Tensor x = zeros({3, 4}, {.dtype = DType::i64});
  const Tensor before = x;
  x[{tensor({0, 0, 2}), tensor({1, 1, 3})}] = tensor({5, 6, 7});
  EXPECT_THAT(integers(x), ElementsAre(0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7));  // the last one counts
  x = counting({3, 4});
  x[{slice(1, none), tensor({0, 3})}] = -1;
  EXPECT_THAT(integers(x), ElementsAre(0, 1, 2, 3, -1, 5, 6, -1, -1, 9, 10, -1));
  x = counting({3, 4});
  x[{slice(none, none), tensor({0, 0})}] += 1;
  EXPECT_THAT(integers(x), ElementsAre(1, 1, 2, 3, 5, 5, 6, 7, 9, 9, 10, 11));
  x = counting({3, 4});
  x[{slice(none, none, 2), none, tensor({0, 2})}] = tensor({{{1, 2}}, {{3, 4}}});
  EXPECT_THAT(integers(x), ElementsAre(1, 1, 2, 3, 4, 5, 6, 7, 3, 9, 4, 11));
  x = counting({3, 4});
  x[tensor({2, -3})] = tensor({{-1}, {-2}});
  EXPECT_THAT(integers(x), ElementsAre(-2, -2, -2, -2, 4, 5, 6, 7, -1, -1, -1, -1));
  EXPECT_THAT(integers(before), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
}

TEST(Masks, AssignOneValueEachOrTheSame) {
  const Tensor m = tensor({true, false, true});
  Tensor x = counting({3, 4});
  x[m] = tensor({{9}, {8}});
  EXPECT_THAT(integers(x), ElementsAre(9, 9, 9, 9, 4, 5, 6, 7, 8, 8, 8, 8));
  x = counting({3, 4});
  x[m] = tensor({1, 2, 3, 4});
  EXPECT_THAT(integers(x), ElementsAre(1, 2, 3, 4, 4, 5, 6, 7, 1, 2, 3, 4));
  x = counting({3, 4});
  x[x > 6] = tensor({70, 80, 90, 100, 110});
  EXPECT_THAT(integers(x), ElementsAre(0, 1, 2, 3, 4, 5, 6, 70, 80, 90, 100, 110));
  x = counting({3, 4});
  x[{m, slice(1, 3)}] = 0;
  EXPECT_THAT(integers(x), ElementsAre(0, 0, 0, 3, 4, 5, 6, 7, 8, 0, 0, 11));
}

TEST(Masks, WithTheWrongNumberOfValuesAreAnErrorOfTheValue) {
  Tensor x = counting({3});
  x[x > 0] = tensor({7, 8, 9});
  EXPECT_THAT(message_of([&] { x.wait(); }), HasSubstr("the mask is true 2 times, but there are 3 values"));
  EXPECT_THAT(message_of([&] { sync(); }), "");
}

TEST(IndexTensors, OutOfRangeIsAnErrorOfTheValue) {
  const Tensor t = counting({2, 3});
  const Tensor bad = t[{tensor({0, 1}), tensor({2, 3})}];
  EXPECT_THAT(message_of([&] { bad.wait(); }), HasSubstr("index: index 3 is out of range for axis 1 of size 3"));
  EXPECT_THAT(message_of([&] { t[{tensor({0, 1}), tensor({1, 2, 0})}]; }), HasSubstr("do not broadcast"));
}

// B085: repeated indices add up.
TEST(IndexTensors, GradientsAddUp) {
  const Tensor x = tensor({{0.1, 0.2}, {0.3, 0.4}}).requires_grad();
  const Tensor taken = x[{tensor({0, 0, 1}), tensor({1, 1, 0})}];
  sum(taken * tensor({1.0, 10.0, 100.0})).backward();
  EXPECT_THAT(x.grad().to_vector<double>(), ElementsAre(0, 11, 100, 0));
}

// B086: of values for one place the last counts, and its gradient alone.
TEST(IndexTensors, GradientsOfAssignedValues) {
  const Tensor base = zeros({3}, {.dtype = DType::f64}).requires_grad(), value = tensor({5.0, 6.0, 7.0}).requires_grad();
  Tensor x = base * 1;
  x[tensor({1, 1, 2})] = value;
  sum(x * tensor({1.0, 10.0, 100.0})).backward();
  EXPECT_THAT(x.to_vector<double>(), ElementsAre(0, 6, 7));
  EXPECT_THAT(base.grad().to_vector<double>(), ElementsAre(1, 0, 0));
  EXPECT_THAT(value.grad().to_vector<double>(), ElementsAre(0, 10, 100));
}

TEST(Indexing, B125NegativeStop) { EXPECT_EQ((ones({10, 10})[{slice(0, -1), 0}].shape()), Shape{9}); }

TEST(Indexing, B126TooManyBesideAnEllipsis) {
  Tensor x = ones({2, 2});
  EXPECT_THAT(message_of([&] { x[{ellipsis, 0, 0, 0}]; }), HasSubstr("3 indices for shape (2, 2)"));
  EXPECT_THAT(message_of([&] { x[{ellipsis, 0, 0, 0}] = 1; }), HasSubstr("3 indices for shape (2, 2)"));
  EXPECT_THAT(message_of([&] { x[{ellipsis, tensor({0}), 0, 0}]; }), HasSubstr("3 indices for shape (2, 2)"));
}

TEST(Indexing, B127BooleansAreNoIntegers) {
  Tensor a = tensor({0, 1, 2});
  a[true] = 1;
  EXPECT_THAT(integers(a), ElementsAre(1, 1, 1));
  a = tensor({0, 1, 2});
  a[false] = 1;
  EXPECT_THAT(integers(a), ElementsAre(0, 1, 2));
  a[tensor({true, false, true})] = 1;
  EXPECT_THAT(integers(a), ElementsAre(1, 1, 1));
  a = tensor({0, 1, 2});
  a[{tensor({true, false, true})}] = 7;
  EXPECT_THAT(integers(a), ElementsAre(7, 1, 7));
}

TEST(Indexing, B128AssignmentDropsTheAxesOfIntegers) {
  Tensor x = zeros({3, 4, 4, 4});
  x[{0, slice(0, 4), 3, slice(0, 4)}] = ones({2, 6, 6, 6})[{0, slice(1, 5), 5, slice(1, 5)}];
  EXPECT_EQ(sum(x).item<float>(), 16);
  EXPECT_EQ(x.size(), 192);
  x[{0, 0, 3}] = ones({1, 1, 4}) * 2;  // leading axes of length 1 go too
  EXPECT_EQ(sum(x).item<float>(), 20);
}

TEST(Indexing, B129BytesOfViewsAreThoseOfTheirElements) {
  const Tensor x = arange(10, {.dtype = DType::i32});
  EXPECT_THAT(x[slice(none, none, 2)].to_vector<std::int32_t>(), ElementsAre(0, 2, 4, 6, 8));
  EXPECT_EQ(x[slice(none, none, 2)].host().bytes(), 20u);
  EXPECT_THAT(transpose(x.reshape({2, 5})).to_vector<std::int32_t>(), ElementsAre(0, 5, 1, 6, 2, 7, 3, 8, 4, 9));
  EXPECT_THAT(broadcast_to(x[slice(8, 10)], {2, 2}).to_vector<std::int32_t>(), ElementsAre(8, 9, 8, 9));
}

}  // namespace
}  // namespace regrow
