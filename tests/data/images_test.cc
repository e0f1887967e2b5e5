// SPDX-License-Identifier: Apache-2.0
#include "regrow/data/images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/idx_file.h"
#include "tests/error_message.h"

namespace regrow::data {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class Images : public testing::Test {
 protected:
  std::string error(const std::string& images, const std::string& labels) {
    return error_message([&] { read_labelled_images(folder_.write("images", images), folder_.write("labels", labels)); });
  }
  TemporaryFolder folder_;
};

const std::string two_images = idx(0x08, {2, 1, 2}, "abcd");

TEST_F(Images, ImagesAndLabelsBelongTogether) {
  const LabelledImages set = read_labelled_images(folder_.write("i", two_images), folder_.write("l", idx(0x08, {2}, "\x09\x03")));
  EXPECT_EQ(set.count(), 2);
  EXPECT_EQ(set.height(), 1);
  EXPECT_EQ(set.width(), 2);
  EXPECT_EQ(set.labels.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{9, 3}));
}

TEST_F(Images, WhatDoesNotFitTogetherIsRefused) {
  EXPECT_THAT(error(two_images, idx(0x08, {3}, "\x01\x02\x03")), HasSubstr("labels: 3 labels for 2 images in "));
  EXPECT_THAT(error(two_images, idx(0x08, {2}, "\x01\x0a")), EndsWith("labels: label 1 is 10, but there are 10 classes"));
  EXPECT_THAT(error(idx(0x08, {2}, "ab"), idx(0x08, {2}, "\x01\x02")),
              EndsWith("images: images must be u8 of 3 axes, not u8 (2,)"));
  EXPECT_THAT(error(two_images, idx(0x09, {2}, "\x01\x02")), EndsWith("labels: labels must be u8 of 1 axis, not i8 (2,)"));
}

TEST_F(Images, AFolderHoldsPlainOrGzippedFiles) {
  const std::string labels = idx(0x08, {2}, "\x01\x02");
  EXPECT_THAT(error_message([&] { read_mnist(folder_.path() / "none"); }), EndsWith("none: no such folder"));
  folder_.write("train-images-idx3-ubyte.gz", gzipped(two_images));
  folder_.write("train-labels-idx1-ubyte", labels);
  folder_.write("t10k-images-idx3-ubyte", idx(0x08, {0, 1, 2}, ""));
  EXPECT_THAT(error_message([&] { read_mnist(folder_.path()); }),
              HasSubstr("neither t10k-labels-idx1-ubyte nor t10k-labels-idx1-ubyte.gz"));
  folder_.write("t10k-labels-idx1-ubyte", idx(0x08, {0}, ""));
  const TrainAndTest both = read_mnist(folder_.path());
  EXPECT_EQ(both.train.count(), 2);
  EXPECT_EQ(both.test.count(), 0);
}

TEST(FashionMnist, DebiansFilesHoldWhatTheyPromise) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist")) GTEST_SKIP() << "dataset-fashion-mnist is not installed";
  const TrainAndTest both = read_mnist(find_fashion_mnist());
  EXPECT_EQ(both.train.images.shape(), (Shape{60000, 28, 28}));
  EXPECT_EQ(both.test.images.shape(), (Shape{10000, 28, 28}));
  // Fashion-MNIST is balanced: as many images of every class.
  std::vector<int> count(10);
  for (std::uint8_t label : both.train.labels.to_vector<std::uint8_t>()) ++count[label];
  EXPECT_EQ(count, std::vector<int>(10, 6000));
}

}  // namespace
}  // namespace regrow::data
