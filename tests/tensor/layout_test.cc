// SPDX-License-Identifier: Apache-2.0
// Strides against brute force: the offset of every element, listed.
#include "regrow/tensor/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "regrow/base/error.h"
#include "regrow/tensor/desc.h"
#include "regrow/tensor/walk.h"

namespace regrow {
namespace {

using ::testing::HasSubstr;

struct Laid {
  Shape shape;
  Strides strides;
};

std::string text(const Laid& laid) { return to_string(laid.shape) + " by " + to_string(laid.strides); }

// Offsets of all elements in row-major order, by counting through the indices.
std::vector<std::int64_t> offsets(const Shape& shape, const Strides& strides) {
  std::vector<std::int64_t> all;
  for (std::int64_t flat = 0; flat < element_count(shape); ++flat) {
    std::int64_t rest = flat, offset = 0;
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) offset += rest % shape[axis] * strides[axis];
    all.push_back(offset);
  }
  return all;
}

// Random tensors as views make them: dense in some axis order, then sliced with steps, flipped, repeated, with axes of length 1.
Laid random_laid(std::mt19937& random) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int rank = below(5);
  Laid laid;
  for (int i = 0; i < rank; ++i) laid.shape.push_back(below(12) == 0 ? 0 : 1 + below(4));
  laid.strides = contiguous_strides(laid.shape);
  for (int i = rank; i-- > 1;) {
    const int j = below(i + 1);
    if (below(2) == 0)
      std::swap(laid.shape[static_cast<std::size_t>(i)], laid.shape[static_cast<std::size_t>(j)]),
          std::swap(laid.strides[static_cast<std::size_t>(i)], laid.strides[static_cast<std::size_t>(j)]);
  }
  for (std::size_t i = 0; i < laid.shape.size(); ++i) {
    if (below(4) == 0) laid.strides[i] *= -1;
    if (below(5) == 0) laid.strides[i] *= 2;
    if (below(6) == 0) laid.strides[i] = 0;
    if (below(6) == 0 && laid.shape[i] > 1) --laid.shape[i];
  }
  return laid;
}

// Another shape of as many elements.
Shape random_shape_of(std::int64_t count, std::mt19937& random) {
  Shape shape;
  std::int64_t rest = count;
  while (shape.size() < 6 && (rest != 1 || random() % 3 == 0)) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t d = 1; d <= rest; ++d)
      if (rest % d == 0) divisors.push_back(d);
    const std::int64_t size = shape.size() == 5 ? rest : divisors[random() % divisors.size()];
    shape.push_back(size);
    rest /= size;
  }
  if (rest != 1) shape.push_back(rest);
  return shape;
}

// The only strides that a view with this shape could have, read off the offsets; false if they do not give all of them.
bool view_exists(const std::vector<std::int64_t>& wanted, const Shape& shape) {
  const Strides row_major = contiguous_strides(shape);
  Strides strides = Dims::filled(shape.size(), 0);
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] > 1) strides[i] = wanted[static_cast<std::size_t>(row_major[i])] - wanted[0];
  return offsets(shape, strides) == wanted;
}

TEST(ReshapeStrides, FindAViewExactlyWhereThereIsOne) {
  std::mt19937 random(1);
  int views = 0, copies = 0;
  for (int round = 0; round < 40000; ++round) {
    const Laid from = random_laid(random);
    const Shape to = element_count(from.shape) == 0 ? Shape{0, 2} : random_shape_of(element_count(from.shape), random);
    const std::vector<std::int64_t> wanted = offsets(from.shape, from.strides);
    Strides strides;
    const bool found = reshape_strides(from.shape, from.strides, to, strides);
    ASSERT_EQ(found, element_count(from.shape) == 0 || view_exists(wanted, to)) << text(from) << " as " << to_string(to);
    ASSERT_TRUE(!found || offsets(to, strides) == wanted)
        << text(from) << " as " << to_string(to) << " by " << to_string(strides);
    ++(found ? views : copies);
  }
  EXPECT_GT(views, 1000);
  EXPECT_GT(copies, 1000);
}

TEST(Walk, MeetsEveryIndexRowMajor) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    const Laid laid = random_laid(random);
    std::vector<std::int64_t> met, flat;
    walk<2>(laid.shape, {laid.strides, contiguous_strides(laid.shape)}, [&](std::int64_t a, std::int64_t b) {
      met.push_back(a);
      flat.push_back(b);
    });
    ASSERT_EQ(met, offsets(laid.shape, laid.strides)) << text(laid);
    for (std::size_t i = 0; i < flat.size(); ++i) ASSERT_EQ(flat[i], static_cast<std::int64_t>(i));
  }
}

TEST(Layouts, AreRecognized) {
  std::mt19937 random(3);
  for (int round = 0; round < 20000; ++round) {
    const Laid laid = random_laid(random);
    const std::vector<std::int64_t> all = offsets(laid.shape, laid.strides);
    std::vector<std::int64_t> sorted = all;
    std::sort(sorted.begin(), sorted.end());
    bool row_major = true, dense = true;
    for (std::size_t i = 0; i < all.size(); ++i) {
      row_major = row_major && all[i] == static_cast<std::int64_t>(i);
      dense = dense && sorted[i] == static_cast<std::int64_t>(i);
    }
    ASSERT_EQ(is_contiguous(laid.shape, laid.strides), row_major) << text(laid);
    ASSERT_EQ(is_dense(laid.shape, laid.strides), dense) << text(laid);
    const Extent extent = extent_of(laid.shape, laid.strides);
    ASSERT_EQ(extent.first, sorted.empty() ? 0 : sorted.front()) << text(laid);
    ASSERT_EQ(extent.last, sorted.empty() ? 0 : sorted.back() + 1) << text(laid);
  }
}

// Dense, and of two axes the one that is further out in `like` is so in the result.
TEST(DenseStridesLike, KeepTheAxisOrder) {
  std::mt19937 random(4);
  for (int round = 0; round < 20000; ++round) {
    const Laid like = random_laid(random);
    Shape shape = like.shape;
    for (std::int64_t& size : shape)
      if (random() % 3 == 0) size = 1 + static_cast<std::int64_t>(random() % 5);
    const Strides strides = dense_strides_like(shape, like.shape, like.strides);
    ASSERT_TRUE(is_dense(shape, strides)) << to_string(shape) << " like " << text(like);
    bool repeats = false;
    for (std::size_t i = 0; i < like.shape.size(); ++i) repeats = repeats || (like.shape[i] > 1 && like.strides[i] == 0);
    if (repeats || is_contiguous(like.shape, like.strides)) {
      ASSERT_EQ(strides, contiguous_strides(shape));
      continue;
    }
    for (std::size_t i = 0; i < shape.size(); ++i)
      for (std::size_t j = 0; j < shape.size(); ++j) {
        const bool further = std::abs(like.strides[i]) > std::abs(like.strides[j]);
        ASSERT_TRUE(!further || shape[i] == 1 || shape[j] == 1 || strides[i] > strides[j])
            << to_string(shape) << " like " << text(like);
      }
  }
}

TEST(DenseStridesLike, OfChannelsLastIsChannelsLast) {
  const Shape shape = {2, 3, 4, 5};
  EXPECT_EQ(channels_last_strides(shape), (Strides{60, 1, 15, 3}));
  EXPECT_TRUE(is_channels_last(shape, channels_last_strides(shape)));
  EXPECT_FALSE(is_channels_last(shape, contiguous_strides(shape)));
  EXPECT_FALSE(is_channels_last({2, 3}, {3, 1}));
  EXPECT_EQ(dense_strides_like({7, 1, 4, 2}, shape, channels_last_strides(shape)), (Strides{8, 1, 2, 1}));
  EXPECT_EQ(dense_strides_like({6}, shape, channels_last_strides(shape)), (Strides{1}));
}

// One channel, or one pixel, is both orders at once.
TEST(Layouts, OfAxesOfLengthOneAreFree) {
  EXPECT_TRUE(is_contiguous({2, 1, 4, 5}, {20, 7, 5, 1}));
  EXPECT_TRUE(is_channels_last({2, 1, 4, 5}, contiguous_strides({2, 1, 4, 5})));
  EXPECT_TRUE(is_contiguous({0, 3}, {99, -5}));
  EXPECT_TRUE(is_contiguous({}, {}));
}

// NumPy's rule, by its definition: aligned at the end, equal or 1.
TEST(Broadcasting, OfShapesIsNumPys) {
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    Shape a, b;
    for (int i = static_cast<int>(random() % 4); i-- > 0;) a.push_back(static_cast<std::int64_t>(random() % 4));
    for (int i = static_cast<int>(random() % 4); i-- > 0;) b.push_back(static_cast<std::int64_t>(random() % 4));
    bool ok = true;
    Shape wanted = Dims::filled(std::max(a.size(), b.size()), 1);
    for (std::size_t i = 1; i <= wanted.size(); ++i) {
      const std::int64_t x = i <= a.size() ? a[a.size() - i] : 1, y = i <= b.size() ? b[b.size() - i] : 1;
      ok = ok && (x == y || x == 1 || y == 1);
      wanted[wanted.size() - i] = x == 1 ? y : x;
    }
    try {
      const Shape shape = broadcast_shapes(a, b);
      ASSERT_TRUE(ok) << to_string(a) << to_string(b);
      ASSERT_EQ(shape, wanted) << to_string(a) << to_string(b);
    } catch (const Error& error) {
      ASSERT_FALSE(ok) << error.what();
      ASSERT_EQ(error.message(), "shapes " + to_string(a) + " and " + to_string(b) + " do not broadcast");
    }
  }
}

TEST(Broadcasting, OfStridesReadsTheSourceAgain) {
  std::mt19937 random(6);
  for (int round = 0; round < 5000; ++round) {
    const Laid from = random_laid(random);
    Shape to = from.shape;
    for (std::int64_t& size : to)
      if (size == 1) size = 1 + static_cast<std::int64_t>(random() % 3);
    if (random() % 2 == 0) to.insert(0, 2);
    const Strides strides = broadcast_strides(from.shape, from.strides, to);
    const std::vector<std::int64_t> source = offsets(from.shape, from.strides), got = offsets(to, strides);
    for (std::int64_t flat = 0; flat < element_count(to); ++flat) {
      std::int64_t rest = flat, at = 0, row_major = 1;
      for (std::size_t i = 1; i <= to.size(); ++i) {  // from the last axis on
        const std::int64_t index = rest % to[to.size() - i];
        rest /= to[to.size() - i];
        if (i > from.shape.size()) continue;
        const std::int64_t size = from.shape[from.shape.size() - i];
        at += (size == 1 ? 0 : index) * row_major;
        row_major *= size;
      }
      ASSERT_EQ(got[static_cast<std::size_t>(flat)], source[static_cast<std::size_t>(at)])
          << text(from) << " to " << to_string(to);
    }
  }
}

TEST(Desc, CountsTheBytesThatItTouches) {
  EXPECT_EQ(Desc::dense(DType::f32, {2, 3}).bytes(), 24u);
  EXPECT_EQ(Desc::dense(DType::f32, {0, 3}).bytes(), 0u);
  EXPECT_EQ(Desc::dense(DType::f64, {}).bytes(), 8u);
  EXPECT_EQ((Desc{DType::u8, {}, true, {3, 4}, {-10, 2}}.bytes()), 27u);  // from -20 to 6
  EXPECT_EQ((Desc{DType::f32, {}, true, {1000, 1000}, {0, 0}}.bytes()), 4u);
  EXPECT_EQ(to_string(Desc::dense(DType::bf16, {5})), "bf16(5,)");
  EXPECT_EQ(to_string(Desc::unknown_shape(DType::i64)), "i64(?)");
}

}  // namespace
}  // namespace regrow
