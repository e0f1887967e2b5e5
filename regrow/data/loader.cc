// SPDX-License-Identifier: Apache-2.0
#include "regrow/data/loader.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "regrow/base/hash.h"

namespace regrow::data {
namespace {

// Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t state) : state_(state) {}

  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
  }
  // Uniform in [0, bound), without bias: values of the incomplete last stretch are drawn again.
  std::uint64_t below(std::uint64_t bound) {
    const std::uint64_t reject = -bound % bound;  // 2^64 mod bound
    std::uint64_t x = next();
    while (x < reject) x = next();
    return x % bound;
  }

 private:
  std::uint64_t state_;
};

}  // namespace

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

Batch Loader::batch(std::int64_t epoch, std::int64_t index) {
  require(epoch >= 0, "epoch {} is negative", epoch);
  require(index >= 0 && index < batches_, "batch {} is not one of the {} in an epoch", index, batches_);
  if (arranged_ != epoch) arrange(epoch);
  const std::int64_t first = index * options_.batch;
  const std::int64_t count = std::min(options_.batch, items() - first);
  const std::size_t pixels = static_cast<std::size_t>(set_.height() * set_.width());

  Batch batch;
  std::byte* images = nullptr;
  std::byte* labels = nullptr;
  batch.images = HostArray::uninitialized(DType::f32, {count, 1, set_.height(), set_.width()}, &images);
  batch.labels = HostArray::uninitialized(DType::i64, {count}, &labels);
  float* out = reinterpret_cast<float*>(images);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t item = order_[static_cast<std::size_t>(first + i)];
    const std::byte* in = set_.images.data() + item * pixels;
    out = std::transform(in, in + pixels, out,
                         [this](std::byte pixel) { return normalized_[std::to_integer<std::size_t>(pixel)]; });
    const std::int64_t label = std::to_integer<std::int64_t>(set_.labels.data()[item]);
    std::memcpy(labels + static_cast<std::size_t>(i) * sizeof label, &label, sizeof label);
  }
  return batch;
}

}  // namespace regrow::data
