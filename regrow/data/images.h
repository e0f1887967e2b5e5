// SPDX-License-Identifier: Apache-2.0
// Labelled grey images as MNIST and Fashion-MNIST have them: where the files are, and what they must hold. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>

#include "regrow/tensor/host_array.h"

namespace regrow::data {

struct LabelledImages {
  HostArray images;  // u8 (count, height, width)
  HostArray labels;  // u8 (count,)

  std::int64_t count() const noexcept { return images.shape()[0]; }
  std::int64_t height() const noexcept { return images.shape()[1]; }
  std::int64_t width() const noexcept { return images.shape()[2]; }
};

// Throws Error unless both are u8, of rank 3 and 1, equally many, and every label is below `classes`.
LabelledImages read_labelled_images(const std::filesystem::path& images, const std::filesystem::path& labels, int classes = 10);

struct TrainAndTest {
  LabelledImages train, test;
};

// {train,t10k}-{images-idx3,labels-idx1}-ubyte in this folder, each plain or with ".gz". Throws Error naming what is missing.
TrainAndTest read_mnist(const std::filesystem::path& folder);

// Where Fashion-MNIST lies: $REGROW_DATA, or where Debian's package dataset-fashion-mnist puts it. Throws Error saying how to get
// it.
std::filesystem::path find_fashion_mnist();

}  // namespace regrow::data
