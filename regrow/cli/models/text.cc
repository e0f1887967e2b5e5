// SPDX-License-Identifier: Apache-2.0
#include "regrow/cli/models/text.h"

#include <cmath>
#include <utility>

namespace regrow::cli {
namespace {

Batch as_batch(data::TextBatch batch) {
  const std::int64_t characters = batch.targets.count();
  return {std::move(batch.inputs), HostArray::from(batch.targets.to_vector<std::int64_t>(), {characters})};
}

}  // namespace

TextSource read_source(const Setting& setting) {
  if (!setting.learns) return {setting.vocabulary.value(), nullptr};
  const std::u32string text = data::read_text(setting.data.empty() ? data::find_devils_dictionary() : setting.data);
  const data::Vocabulary vocabulary = setting.vocabulary ? *setting.vocabulary : data::Vocabulary(text);
  const data::TextOptions options{.batch = setting.extent.batch, .length = setting.extent.length, .seed = setting.seed};
  return {vocabulary, std::make_shared<data::TextLoader>(text, vocabulary, options)};
}

Model language_model(nn::Module module, TextSource source, std::function<Tensor(const Tensor&, const Tensor&)> loss,
                     std::function<Tensor(const Tensor&)> logits) {
  const auto loader = source.loader;
  if (!loader) return {.module = std::move(module), .logits = std::move(logits), .vocabulary = std::move(source.vocabulary)};
  const std::int64_t batches = loader->batches();
  const auto loss_of = [loss](const Batch& batch) { return loss(tensor(batch[0]), tensor(batch[1])); };
  const auto perplexity = [loader, loss_of] {
    double sum = 0, characters = 0;
    for (std::int64_t i = 0; i < loader->held_out_batches(); ++i) {
      const Batch batch = as_batch(loader->held_out_batch(i));
      const double count = static_cast<double>(batch[1].count());
      sum += count * static_cast<double>(loss_of(batch).item<float>());
      characters += count;
    }
    return std::exp(sum / characters);
  };
  return {.module = std::move(module),
          .steps_per_epoch = batches,
          .batch = [loader, batches](std::int64_t step) { return as_batch(loader->batch(step / batches, step % batches)); },
          .loss = loss_of,
          .measure = perplexity,
          .logits = std::move(logits),
          .vocabulary = std::move(source.vocabulary)};
}

}  // namespace regrow::cli
