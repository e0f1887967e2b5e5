// SPDX-License-Identifier: Apache-2.0
// Tensors as users hold them. Expected values from NumPy or by hand.
#include "regrow/frontend/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"
#include "regrow/ops.h"

namespace regrow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

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

TEST(Literals, TakeTheirTypeFromHowTheyAreWritten) {
  EXPECT_EQ(tensor({1, 2}).dtype(), DType::i64);
  EXPECT_EQ(tensor({1.f, 2.f}).dtype(), DType::f32);
  EXPECT_EQ(tensor({1.0}).dtype(), DType::f64);
  EXPECT_EQ(tensor({true, false}).dtype(), DType::boolean);
  EXPECT_EQ(tensor({1, 2.f}).dtype(), DType::f32);
  EXPECT_EQ(tensor({{1, 2}, {3, 4}}, {.dtype = DType::u8}).dtype(), DType::u8);
  EXPECT_EQ(tensor(2.5f).shape(), Shape{});
  EXPECT_EQ(tensor({{{1}, {2}}, {{3}, {4}}}).shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(tensor(std::vector<float>{1, 2, 3}).shape(), Shape{3});
}

TEST(Literals, OfUnequalLengthsAreRefusedHere) {
  EXPECT_THAT(message_of([] { tensor({{1, 2}, {3}}); }), HasSubstr("tensor_test.cc"));
  EXPECT_THAT(message_of([] { tensor({{1, 2}, {3, 4}, {5, 6, 7}}); }), HasSubstr("3 elements"));
  EXPECT_THAT(message_of([] { tensor({1, {2}}); }), HasSubstr("depths"));
}

TEST(Literals, BesideATensorAreWeak) {
  EXPECT_EQ((tensor({1.f}) * 2.0).dtype(), DType::f32);
  EXPECT_EQ((tensor({1}, {.dtype = DType::i8}) + 1).dtype(), DType::i8);
  EXPECT_EQ((1 - tensor({1}, {.dtype = DType::u8})).dtype(), DType::u8);
  EXPECT_EQ((tensor({1}) * 0.5).dtype(), DType::f32);
  EXPECT_EQ((tensor({1.0}) * 0.5f).dtype(), DType::f64);
  EXPECT_EQ(where(tensor({true}), tensor({1.f}), 0).dtype(), DType::f32);
}

TEST(Literals, ThatDoNotFitTheTypeAreRefusedHere) {
  EXPECT_THAT(message_of([] { tensor({1}, {.dtype = DType::i8}) + 1000; }), HasSubstr("tensor_test.cc"));
}

TEST(Operators, KnowTheirLine) {
  const Tensor a = ones({3, 4}), b = ones({5, 6});
  const std::string here = "tensor_test.cc:" + std::to_string(__LINE__ + 1);
  EXPECT_THAT(message_of([&] { a + b; }), HasSubstr(here));
  EXPECT_THAT(message_of([&] { matmul(a, b); }), HasSubstr("tensor_test.cc"));
}

TEST(Operators, AreNumPys) {
  const Tensor a = tensor({7, -7, 8}), b = tensor({3, 3, -3});
  EXPECT_THAT(integers(a + b), ElementsAre(10, -4, 5));
  EXPECT_THAT(integers(a - b), ElementsAre(4, -10, 11));
  EXPECT_THAT(integers(a * b), ElementsAre(21, -21, -24));
  EXPECT_THAT(integers(a % b), ElementsAre(1, 2, -1));
  EXPECT_THAT(integers(-a), ElementsAre(-7, 7, -8));
  EXPECT_THAT((a > b).to_vector<bool>(), ElementsAre(true, false, true));
  EXPECT_THAT(((a > b) & (b > 0)).to_vector<bool>(), ElementsAre(true, false, false));
  EXPECT_THAT((~(a > b)).to_vector<bool>(), ElementsAre(false, true, false));
  EXPECT_THAT(message_of([&] { a& b; }), HasSubstr("bool"));
}

TEST(CompoundAssignment, RebindsOneName) {
  Tensor a = tensor({1, 2});
  const Tensor other = a;
  a += 10, a *= 2, a -= 1;
  EXPECT_THAT(integers(a), ElementsAre(21, 23));
  EXPECT_THAT(integers(other), ElementsAre(1, 2));
}

TEST(Indexing, FollowsNumPy) {
  const Tensor t = counting({2, 3, 4});
  EXPECT_THAT(integers(t[1][2]), ElementsAre(20, 21, 22, 23));
  EXPECT_EQ((t[{-1, -1, -1}].item<std::int64_t>()), 23);
  EXPECT_THAT(integers(t[{0, slice(none, none), 1}]), ElementsAre(1, 5, 9));
  EXPECT_THAT(integers(t[{ellipsis, 0}]), ElementsAre(0, 4, 8, 12, 16, 20));
  EXPECT_THAT(integers(t[{1, 0, slice(none, none, -1)}]), ElementsAre(15, 14, 13, 12));
  EXPECT_THAT(integers(t[{1, 0, slice(-1, 0, -2)}]), ElementsAre(15, 13));
  EXPECT_THAT(integers(t[{0, 0, slice(-100, 2)}]), ElementsAre(0, 1));
  EXPECT_EQ((t[{0, 0, slice(3, 1)}].shape()), Shape{0});
  EXPECT_EQ((t[{none, slice(0, 1), none, ellipsis}].shape()), (Shape{1, 1, 1, 3, 4}));
  EXPECT_EQ(t[true].shape(), (Shape{1, 2, 3, 4}));
  EXPECT_EQ(t[false].shape(), (Shape{0, 2, 3, 4}));
  EXPECT_THAT(integers(t[t % 10 == 3]), ElementsAre(3, 13, 23));
  EXPECT_EQ(t[tensor({1, 0, 1})].shape(), (Shape{3, 3, 4}));
}

TEST(Indexing, OutOfRangeIsThrownHere) {
  const Tensor t = counting({2, 3});
  EXPECT_THAT(message_of([&] { t[2]; }), HasSubstr("2 is out of range for axis 0 of size 2"));
  EXPECT_THAT(message_of([&] { t[{0, -4}]; }), HasSubstr("tensor_test.cc"));
  EXPECT_THAT(message_of([&] { t[{0, 0, 0}]; }), HasSubstr("3 indices for shape (2, 3)"));
  EXPECT_THAT(message_of([&] { t[slice(0, 1, 0)]; }), HasSubstr("step"));
}

TEST(IndexAssignment, RebindsAndLeavesSnapshotsAlone) {
  Tensor t = counting({2, 3});
  const Tensor before = t;
  auto row = t[0];
  t[0] = tensor({7, 8, 9});
  t[{1, slice(none, none, 2)}] = -1;
  t[{1, 1}] += 100;
  EXPECT_THAT(integers(t), ElementsAre(7, 8, 9, -1, 104, -1));
  EXPECT_THAT(integers(row), ElementsAre(0, 1, 2));
  EXPECT_THAT(integers(before), ElementsAre(0, 1, 2, 3, 4, 5));
  row = tensor({5});
  EXPECT_THAT(integers(row), ElementsAre(5));
  EXPECT_THAT(integers(t[0]), ElementsAre(7, 8, 9));
}

TEST(IndexAssignment, BroadcastsAndCasts) {
  Tensor t = zeros({2, 3});
  t[{slice(none, none), slice(none, none, -1)}] = tensor({1, 2, 3});
  t[{none, 0}] = tensor({{4.0, 5.0, 6.0}});
  EXPECT_THAT(t.to_vector<float>(), ElementsAre(4, 5, 6, 3, 2, 1));
  t[t > 4] = 0;
  EXPECT_THAT(t.to_vector<float>(), ElementsAre(4, 0, 0, 3, 2, 1));
  t[1] = t[0];
  EXPECT_THAT(t.to_vector<float>(), ElementsAre(4, 0, 0, 4, 0, 0));
  EXPECT_THAT(message_of([&] { t[0] = tensor({1.f, 2.f}); }), HasSubstr("tensor_test.cc"));
  t[false] = 9;
  EXPECT_THAT(t.to_vector<float>(), ElementsAre(4, 0, 0, 4, 0, 0));
}

TEST(ShapesAsTensors, ResolveOnTheHost) {
  const Tensor t = counting({2, 3, 4});
  const Tensor wanted = shape_of(t)[slice(1, none)] * tensor({2, 1});
  EXPECT_EQ(t.reshape(wanted).shape(), (Shape{6, 4}));
  EXPECT_EQ(broadcast_to(ones({1, 4}), wanted).shape(), (Shape{6, 4}));
  EXPECT_EQ(tensor({5}).reshape({}).shape(), Shape{});
}

TEST(Tensors, EmptyOnesSaySo) {
  const Tensor empty;
  EXPECT_FALSE(empty.defined());
  EXPECT_THAT(message_of([&] { empty.shape(); }), HasSubstr("empty tensor"));
  EXPECT_THAT(message_of([&] { exp(empty); }), HasSubstr("exp: input 0 is an empty tensor"));
}

TEST(Tensors, ReadingNeedsTheExactType) {
  EXPECT_THAT(message_of([] { tensor({1.f}).item<double>(); }), HasSubstr("tensor_test.cc"));
  EXPECT_THAT(message_of([] { tensor({1.f, 2.f}).item<float>(); }), Not(HasSubstr("f64")));
}

TEST(Tensors, AreReleasedFromAnyThread) {
  for (int round = 0; round < 20; ++round) {
    Tensor x = ones({16});
    std::thread([y = std::move(x)]() mutable { y = y + 1; }).join();
  }
}

TEST(Derived, ViewsKeepTheElements) {
  const Tensor t = counting({2, 1, 3});
  EXPECT_EQ(squeeze(t, 1).shape(), (Shape{2, 3}));
  EXPECT_EQ(squeeze(t, Axes()).shape(), (Shape{2, 3}));
  EXPECT_THAT(message_of([&] { squeeze(t, 0); }), HasSubstr("axis 0"));
  EXPECT_EQ(expand_dims(t, -1).shape(), (Shape{2, 1, 3, 1}));
  EXPECT_EQ(transpose(t).shape(), (Shape{2, 3, 1}));
  EXPECT_EQ(flatten(t, 1).shape(), (Shape{2, 3}));
  EXPECT_EQ(flatten(t).shape(), (Shape{6}));
  EXPECT_THAT(integers(flip(t)), ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(integers(flip(t, {.axis = -1})), ElementsAre(2, 1, 0, 5, 4, 3));
  const auto parts = split(t, 3, {.axis = 2});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_THAT(integers(parts[2]), ElementsAre(2, 5));
  EXPECT_EQ(split(counting({5}), {2, 3}).at(1).shape(), Shape{3});
  EXPECT_THAT(message_of([&] { split(t, 2, {.axis = 2}); }), HasSubstr("3 cannot be cut into 2"));
}

TEST(Derived, StackMakesANewAxis) {
  const Tensor a = tensor({1, 2}), b = tensor({3, 4});
  EXPECT_THAT(integers(stack({a, b})), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(integers(stack({a, b}, {.axis = -1})), ElementsAre(1, 3, 2, 4));
}

TEST(Derived, Statistics) {
  const Tensor x = tensor({{1.0, 2.0}, {3.0, 6.0}});
  EXPECT_EQ(var(x).item<double>(), 3.5);  // numpy.var
  EXPECT_THAT(var(x, {.axis = 0}).to_vector<double>(), ElementsAre(1, 4));
  EXPECT_THAT(std(x, {.axis = 0}).to_vector<double>(), ElementsAre(1, 2));
  EXPECT_NEAR(var(x, {.correction = 1}).item<double>(), 14.0 / 3.0, 1e-12);  // numpy.var(ddof=1)
  EXPECT_EQ(std(x, {.axis = 1, .keepdims = true}).shape(), (Shape{2, 1}));
}

TEST(Printing, LooksLikeNumPy) {
  EXPECT_EQ(to_string(tensor({{1.f, 2.5f}, {-3.f, 4.f}})), "[[ 1.   2.5]\n [-3.   4. ]]");
  EXPECT_EQ(to_string(tensor({1, 20, 300})), "[  1  20 300]");
  EXPECT_EQ(to_string(tensor({true, false})), "[ True False]");
  EXPECT_EQ(to_string(tensor(1.5)), "1.5");
  EXPECT_EQ(to_string(tensor({1e-10, 1.0})), "[1.e-10 1.e+00]");
  EXPECT_EQ(to_string(zeros({0, 3})), "[]");
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(to_string(tensor({1.f / 3.f, nan, -infinity})), "[0.33333334        nan       -inf]");
  EXPECT_EQ(to_string(tensor({1.2345e10f, 1.f})), "[1.2345e+10 1.0000e+00]");
  EXPECT_EQ(to_string(arange(16.0) / 7),
            "[0.         0.14285714 0.28571429 0.42857143 0.57142857 0.71428571\n"
            " 0.85714286 1.         1.14285714 1.28571429 1.42857143 1.57142857\n"
            " 1.71428571 1.85714286 2.         2.14285714]");
  EXPECT_EQ(to_string(arange(2000)), "[   0    1    2 ... 1997 1998 1999]");
  EXPECT_EQ(to_string(counting({2, 2, 2})), "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]");
}

}  // namespace
}  // namespace regrow
