// SPDX-License-Identifier: Apache-2.0
#include "regrow/data/loader.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "regrow/base/hash.h"
#include "regrow/data/random.h"

namespace regrow::data {

std::vector<std::uint32_t> shuffled_order(std::int64_t count, std::uint64_t seed, std::int64_t epoch) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0u);
  SplitMix64 random(hash_combine(seed, static_cast<std::uint64_t>(epoch)));
  for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random.below(left)]);
  return order;
}

Loader::Loader(LabelledImages set, LoaderOptions options) : set_(std::move(set)), options_(options) {
  require(options.batch >= 1, "a batch must have at least one item, not {}", options.batch);
  require(options.deviation > 0, "the deviation of pixels must be positive, not {}", options.deviation);
  require(options.pad >= 0, "a border cannot be {} pixels wide", options.pad);
  require(options.shrink >= 1 && set_.height() % options.shrink == 0 && set_.width() % options.shrink == 0,
          "images of {} x {} cannot shrink by {}", set_.height(), set_.width(), options.shrink);
  batches_ = options.drop_last ? items() / options.batch : (items() + options.batch - 1) / options.batch;
  for (std::size_t pixel = 0; pixel < normalized_.size(); ++pixel) {
    normalized_[pixel] = static_cast<float>((static_cast<double>(pixel) / 255 - options.mean) / options.deviation);
  }
}

void Loader::arrange(std::int64_t epoch) {
  if (options_.shuffle) {
    order_ = shuffled_order(items(), options_.seed, epoch);
  } else {
    order_.resize(static_cast<std::size_t>(items()));
    std::iota(order_.begin(), order_.end(), 0u);
  }
  arranged_ = epoch;
}

// The border, then row by row.
void Loader::copy_image(std::size_t item, float* out) const {
  const std::int64_t width = set_.width(), shrink = options_.shrink, pad = options_.pad;
  const std::int64_t rows = set_.height() / shrink, columns = width / shrink;
  const std::byte* in = set_.images.data() + static_cast<std::int64_t>(item) * set_.height() * width;
  if (pad > 0) std::fill_n(out, (rows + 2 * pad) * (columns + 2 * pad), normalized_[0]);
  for (std::int64_t row = 0; row < rows; ++row) {
    float* to = out + (row + pad) * (columns + 2 * pad) + pad;
    for (std::int64_t column = 0; column < columns; ++column) {
      float sum = 0;
      for (std::int64_t y = row * shrink; y < (row + 1) * shrink; ++y) {
        for (std::int64_t x = column * shrink; x < (column + 1) * shrink; ++x)
          sum += normalized_[std::to_integer<std::size_t>(in[y * width + x])];
      }
      to[column] = sum / static_cast<float>(shrink * shrink);
    }
  }
}

Batch Loader::batch(std::int64_t epoch, std::int64_t index) {
  require(epoch >= 0, "epoch {} is negative", epoch);
  require(index >= 0 && index < batches_, "batch {} is not one of the {} in an epoch", index, batches_);
  if (arranged_ != epoch) arrange(epoch);
  const std::int64_t first = index * options_.batch;
  const std::int64_t count = std::min(options_.batch, items() - first);
  const std::int64_t height = set_.height() / options_.shrink + 2 * options_.pad;
  const std::int64_t width = set_.width() / options_.shrink + 2 * options_.pad;

  Batch batch;
  std::byte* images = nullptr;
  std::byte* labels = nullptr;
  batch.images = HostArray::uninitialized(DType::f32, {count, 1, height, width}, &images);
  batch.labels = HostArray::uninitialized(DType::i64, {count}, &labels);
  float* out = reinterpret_cast<float*>(images);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t item = order_[static_cast<std::size_t>(first + i)];
    copy_image(item, out + i * height * width);
    const std::int64_t label = std::to_integer<std::int64_t>(set_.labels.data()[item]);
    std::memcpy(labels + static_cast<std::size_t>(i) * sizeof label, &label, sizeof label);
  }
  return batch;
}

}  // namespace regrow::data
