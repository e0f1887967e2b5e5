// SPDX-License-Identifier: Apache-2.0
#include "regrow/data/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/data/idx_file.h"
#include "tests/error_message.h"

namespace regrow::data {
namespace {

// Item i is a 1 x 1 image of pixel i with label i % 10.
LabelledImages numbered(int count) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(count)), labels;
  std::iota(pixels.begin(), pixels.end(), std::uint8_t{0});
  for (std::uint8_t pixel : pixels) labels.push_back(pixel % 10);
  return {HostArray::from(pixels, {count, 1, 1}), HostArray::from(labels, {count})};
}

// mean 0 and deviation 1/255: the normalized pixel is the pixel.
LoaderOptions exact(LoaderOptions options) {
  options.mean = 0, options.deviation = 1.0 / 255;
  return options;
}

std::vector<float> pixels_of_epoch(Loader& loader, std::int64_t epoch) {
  std::vector<float> all;
  for (std::int64_t i = 0; i < loader.batches(); ++i) {
    const std::vector<float> part = loader.batch(epoch, i).images.to_vector<float>();
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

TEST(Shuffle, IsFisherYatesOnSplitmix) {
  // Computed by an independent program.
  EXPECT_EQ(shuffled_order(10, 7, 3), (std::vector<std::uint32_t>{8, 5, 1, 3, 2, 6, 4, 7, 0, 9}));
  EXPECT_TRUE(shuffled_order(0, 7, 3).empty());
}

TEST(Shuffle, EveryItemOnceInAnOrderOfSeedAndEpoch) {
  std::vector<std::uint32_t> order = shuffled_order(1000, 1, 0);
  EXPECT_NE(order, shuffled_order(1000, 2, 0));
  EXPECT_NE(order, shuffled_order(1000, 1, 1));
  std::sort(order.begin(), order.end());
  std::vector<std::uint32_t> all(1000);
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(order, all);
}

TEST(Loader, UnshuffledBatchesAreTheItemsInOrder) {
  Loader loader(numbered(5), exact({.batch = 2, .shuffle = false}));
  EXPECT_EQ(loader.batches(), 3);
  EXPECT_EQ(pixels_of_epoch(loader, 0), (std::vector<float>{0, 1, 2, 3, 4}));
  const Batch last = loader.batch(0, 2);
  EXPECT_EQ(last.images.shape(), (Shape{1, 1, 1, 1}));
  EXPECT_EQ(last.labels.to_vector<std::int64_t>(), (std::vector<std::int64_t>{4}));
}

TEST(Loader, ABatchThatIsNotFullCanBeLeftOut) {
  EXPECT_EQ(Loader(numbered(5), {.batch = 2, .drop_last = true}).batches(), 2);
  EXPECT_EQ(Loader(numbered(4), {.batch = 2, .drop_last = true}).batches(), 2);
  EXPECT_EQ(Loader(numbered(1), {.batch = 2, .drop_last = true}).batches(), 0);
}

TEST(Loader, LabelsStayWithTheirImages) {
  Loader loader(numbered(200), exact({.batch = 200, .seed = 3}));
  const Batch batch = loader.batch(0, 0);
  const std::vector<float> pixels = batch.images.to_vector<float>();
  const std::vector<std::int64_t> labels = batch.labels.to_vector<std::int64_t>();
  for (std::size_t i = 0; i < pixels.size(); ++i) EXPECT_EQ(static_cast<std::int64_t>(pixels[i]) % 10, labels[i]);
}

TEST(Loader, ABatchIsAFunctionOfSeedEpochAndIndex) {
  Loader straight(numbered(100), exact({.batch = 7, .seed = 5}));
  const std::vector<float> first = pixels_of_epoch(straight, 0), second = pixels_of_epoch(straight, 1);
  EXPECT_NE(first, second);
  Loader jumping(numbered(100), exact({.batch = 7, .seed = 5}));
  EXPECT_EQ(jumping.batch(1, 0).images.to_vector<float>(), std::vector<float>(second.begin(), second.begin() + 7));
  EXPECT_EQ(pixels_of_epoch(jumping, 0), first);
}

TEST(Loader, PixelsAreNormalized) {
  Loader loader(numbered(256), {.batch = 256, .shuffle = false, .mean = 0.5, .deviation = 0.25});
  const std::vector<float> pixels = loader.batch(0, 0).images.to_vector<float>();
  EXPECT_FLOAT_EQ(pixels[0], -2);
  EXPECT_FLOAT_EQ(pixels[255], 2);
  EXPECT_FLOAT_EQ(pixels[51], (0.2f - 0.5f) / 0.25f);
}

TEST(Loader, ImagesShrinkToMeansAndGetABlackBorder) {
  const std::vector<std::uint8_t> pixels = {1, 3, 10, 20, 5, 7, 30, 40};  // 2 rows of 4
  const LabelledImages set = {HostArray::from(pixels, {1, 2, 4}), HostArray::from(std::vector<std::uint8_t>{0}, {1})};
  const Batch shrunk = Loader(set, exact({.batch = 1, .shrink = 2})).batch(0, 0);
  EXPECT_EQ(shrunk.images.shape(), (Shape{1, 1, 1, 2}));
  EXPECT_EQ(shrunk.images.to_vector<float>(), (std::vector<float>{4, 25}));
  LoaderOptions options = exact({.batch = 1, .pad = 1, .shrink = 2});
  options.mean = 1.0 / 255;  // black is -1
  const Batch padded = Loader(set, options).batch(0, 0);
  EXPECT_EQ(padded.images.shape(), (Shape{1, 1, 3, 4}));
  EXPECT_EQ(padded.images.to_vector<float>(), (std::vector<float>{-1, -1, -1, -1, -1, 3, 24, -1, -1, -1, -1, -1}));
}

TEST(Loader, ZeroItemsMakeNoBatches) {
  Loader loader({HostArray::from(std::vector<std::uint8_t>{}, {0, 28, 28}), HostArray::from(std::vector<std::uint8_t>{}, {0})},
                {});
  EXPECT_EQ(loader.batches(), 0);
  EXPECT_EQ(error_message([&] { loader.batch(0, 0); }), "batch 0 is not one of the 0 in an epoch");
}

TEST(Loader, BadOptionsAreRefused) {
  EXPECT_EQ(error_message([] { Loader(numbered(1), {.batch = 0}); }), "a batch must have at least one item, not 0");
  EXPECT_EQ(error_message([] { Loader(numbered(1), {.deviation = 0}); }), "the deviation of pixels must be positive, not 0");
  EXPECT_EQ(error_message([] { Loader(numbered(1), {.pad = -1}); }), "a border cannot be -1 pixels wide");
  EXPECT_EQ(error_message([] { Loader(numbered(1), {.shrink = 2}); }), "images of 1 x 1 cannot shrink by 2");
}

}  // namespace
}  // namespace regrow::data
