// SPDX-License-Identifier: Apache-2.0
#include "regrow/cli/models/images.h"

namespace regrow::cli {
namespace {

double accuracy(const std::function<Tensor(const Tensor&)>& logits, data::Loader& test) {
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < test.batches(); ++i) {
    const data::Batch batch = test.batch(0, i);
    const Tensor hits = argmax(logits(tensor(batch.images)), {.axis = -1}) == tensor(batch.labels);
    right += sum(hits.astype(DType::i64)).item<std::int64_t>();
  }
  return test.items() == 0 ? 0 : static_cast<double>(right) / static_cast<double>(test.items());
}

}  // namespace

std::shared_ptr<ImageSets> read_images(const Setting& setting, data::LoaderOptions shape) {
  data::TrainAndTest sets = data::read_mnist(setting.data.empty() ? data::find_fashion_mnist() : setting.data);
  require(sets.train.count() > 0, "there is nothing to learn from: no training images");
  shape.batch = setting.extent.batch;
  shape.seed = setting.seed;
  data::LoaderOptions in_order = shape;  // in batches of the same size: a budget that holds while learning holds while testing
  in_order.shuffle = false;
  return std::make_shared<ImageSets>(
      ImageSets{data::Loader(std::move(sets.train), shape), data::Loader(std::move(sets.test), in_order)});
}

Model classifier(nn::Module module, std::function<Tensor(const Tensor&)> logits, std::shared_ptr<ImageSets> sets) {
  const std::int64_t batches = sets->train.batches();
  return {.module = std::move(module),
          .steps_per_epoch = batches,
          .batch =
              [sets, batches](std::int64_t step) {
                data::Batch batch = sets->train.batch(step / batches, step % batches);
                return Batch{std::move(batch.images), std::move(batch.labels)};
              },
          .loss = [logits](const Batch& batch) { return cross_entropy(logits(tensor(batch[0])), tensor(batch[1])); },
          .measure = [logits, sets] { return accuracy(logits, sets->test); }};
}

}  // namespace regrow::cli
