// SPDX-License-Identifier: Apache-2.0
// Shuffled, normalized batches of labelled images: what they hold is a function of (seed, epoch, index) alone. One thread a
// loader.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "regrow/data/images.h"

namespace regrow::data {

struct Batch {
  HostArray images;  // f32 (n, 1, height, width) after shrinking and padding, normalized
  HostArray labels;  // i64 (n,)
};

struct LoaderOptions {
  std::int64_t batch = 64;
  bool shuffle = true;
  bool drop_last = false;  // leave out a last batch that is not full
  std::uint64_t seed = 0;
  double mean = 0.2860;  // of pixels in [0, 1] over Fashion-MNIST's training images
  double deviation = 0.3530;
  std::int64_t pad = 0;     // black pixels added on each side
  std::int64_t shrink = 1;  // squares of so many by so many pixels become their mean
};

class Loader {
 public:
  // Shares the images. Throws Error unless batch >= 1 and deviation > 0.
  Loader(LabelledImages set, LoaderOptions options);

  std::int64_t batches() const noexcept { return batches_; }  // in an epoch
  std::int64_t items() const noexcept { return set_.count(); }
  // Batch `index` of an epoch. Throws Error if index is not in [0, batches()).
  Batch batch(std::int64_t epoch, std::int64_t index);

 private:
  void arrange(std::int64_t epoch);
  void copy_image(std::size_t item, float* out) const;

  LabelledImages set_;
  LoaderOptions options_;
  std::int64_t batches_;
  std::array<float, 256> normalized_;  // of each pixel value
  std::vector<std::uint32_t> order_;   // of arranged_
  std::int64_t arranged_ = -1;
};

// 0 … count-1 in an order that is a function of (seed, epoch): Fisher and Yates, driven by splitmix64.
std::vector<std::uint32_t> shuffled_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch);

}  // namespace regrow::data
