// SPDX-License-Identifier: Apache-2.0
// Layers of LSTM over characters. The sequence passes through all layers in pieces, with the state handed on, so that no single
// operation needs the whole of it.
#include "regrow/cli/models/text.h"

namespace regrow::cli {
namespace {

constexpr std::int64_t piece = 8;  // steps

struct CharLstm : nn::Module {
  std::int64_t characters;
  nn::Embedding embedding;
  nn::LSTM layers;
  nn::Linear output;

  CharLstm(const Setting& setting, std::int64_t vocabulary)
      : characters(vocabulary),
        embedding(vocabulary, setting.extent.width),
        layers(setting.extent.width, setting.extent.width,
               {.layers = setting.extent.depth, .dropout = setting.dropout ? 0.1 : 0}),
        output(setting.extent.width, vocabulary) {
    add("embedding", embedding), add("layers", layers), add("output", output);
  }

  // Calls use(first step, logits) for each piece of characters (n, length); logits are (steps, n, characters).
  template <class Use>
  void read(const Tensor& text, Use use) const {
    const Tensor by_step = transpose(text);
    const std::int64_t length = text.shape()[1];
    nn::LSTMState state;
    for (std::int64_t first = 0; first < length; first += piece) {
      const nn::LSTMOutput part = layers(embedding(by_step[slice(first, first + piece)]), state);
      state = part.state;
      use(first, output(part.out));
    }
  }
  Tensor loss(const Tensor& text, const Tensor& next) const {
    const Shape shape = text.shape();
    const Tensor targets = transpose(next.reshape(shape));
    Tensor sum;
    read(text, [&](std::int64_t first, const Tensor& logits) {
      const Tensor wanted = targets[slice(first, first + piece)].reshape({-1});
      const double part = static_cast<double>(wanted.size()) / static_cast<double>(next.size());
      const Tensor loss = cross_entropy(logits.reshape({-1, characters}), wanted) * part;
      sum = sum.defined() ? sum + loss : loss;
    });
    return sum;
  }
  Tensor logits(const Tensor& text) const {
    std::vector<Tensor> parts;
    read(text, [&](std::int64_t, const Tensor& logits) { parts.push_back(logits); });
    return permute_dims(concat(parts, {.axis = 0}), {1, 0, 2});
  }
};

Model make(const Setting& setting) {
  TextSource source = read_source(setting);
  const CharLstm net(setting, source.vocabulary.size());
  return language_model(
      net, std::move(source), [net](const Tensor& text, const Tensor& next) { return net.loss(text, next); },
      [net](const Tensor& text) { return net.logits(text); });
}

}  // namespace

ModelSpec lstm() {
  return {.name = "lstm",
          .doc = "LSTM layers that predict the next character of a text",
          .units = "characters",
          .measure = "perplexity",
          .data = "a UTF-8 text, plain or gzipped (The Devil's Dictionary)",
          .small = {.width = 64, .depth = 1, .batch = 16, .length = 32},
          .medium = {.width = 128, .depth = 3, .batch = 64, .length = 128},
          .large = {.width = 256, .depth = 4, .batch = 128, .length = 256},
          .learning_rate = 3e-3,
          .epochs = 5,
          .optimizer = adamw,
          .make = make};
}

}  // namespace regrow::cli
