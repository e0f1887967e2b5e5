// SPDX-License-Identifier: Apache-2.0
// A decoder-only transformer over characters, pre-norm, as GPT-2 (Radford et al. 2019): causal attention and a gelu network four
// times as wide, each behind a layer norm and past each a way; learned positions; a head of its own, not tied to the embedding.
#include <fmt/format.h>

#include <algorithm>

#include "regrow/cli/commands.h"
#include "regrow/cli/models/text.h"

namespace regrow::cli {
namespace {

std::int64_t heads_of(std::int64_t width) { return std::max<std::int64_t>(width / 32, 1); }

struct Block : nn::Module {
  nn::LayerNorm attention_norm;
  nn::MultiHeadAttention attention;
  nn::LayerNorm network_norm;
  nn::Linear widen, narrow;
  nn::Dropout dropout;

  Block(std::int64_t width, double p)
      : attention_norm(width),
        attention(width, heads_of(width)),
        network_norm(width),
        widen(width, 4 * width),
        narrow(4 * width, width),
        dropout(p) {
    add("attention_norm", attention_norm), add("attention", attention), add("network_norm", network_norm);
    add("widen", widen), add("narrow", narrow), add("dropout", dropout);
  }
  Tensor operator()(Tensor x) const {
    x = x + dropout(attention(attention_norm(x), {.causal = true}));
    return x + dropout(narrow(gelu(widen(network_norm(x)))));
  }
};

struct Gpt : nn::Module {
  nn::Embedding characters, positions;
  nn::Dropout dropout;
  nn::ModuleList<Block> blocks;
  nn::LayerNorm norm;
  nn::Linear head;

  Gpt(const Setting& setting, std::int64_t vocabulary)
      : characters(vocabulary, setting.extent.width),
        positions(setting.extent.length, setting.extent.width),
        dropout(setting.dropout ? 0.1 : 0),
        norm(setting.extent.width),
        head(setting.extent.width, vocabulary, {.bias = false}) {
    for (std::int64_t i = 0; i < setting.extent.depth; ++i)
      blocks.push_back(Block(setting.extent.width, setting.dropout ? 0.1 : 0));
    add("characters", characters), add("positions", positions), add("dropout", dropout), add("blocks", blocks);
    add("norm", norm), add("head", head);
  }
  // (n, length) -> (n, length, vocabulary)
  Tensor operator()(const Tensor& text) const {
    Tensor x = dropout(characters(text) + positions(arange(text.shape()[1])));
    for (const Block& block : blocks) x = block(x);
    return head(norm(x));
  }
};

Model make(const Setting& setting) {
  const std::int64_t width = setting.extent.width;
  if (width % heads_of(width) != 0)
    throw UsageError(fmt::format("gpt: a width of {} is not divided by its {} heads", width, heads_of(width)));
  TextSource source = read_source(setting);
  const Gpt net(setting, source.vocabulary.size());
  const auto loss = [net, count = source.vocabulary.size()](const Tensor& text, const Tensor& next) {
    return cross_entropy(net(text).reshape({-1, count}), next);
  };
  return language_model(net, std::move(source), loss, net);
}

}  // namespace

ModelSpec gpt() {
  return {.name = "gpt",
          .doc = "a decoder-only transformer that predicts the next character of a text",
          .units = "characters",
          .measure = "perplexity",
          .data = "a UTF-8 text, plain or gzipped (The Devil's Dictionary)",
          .small = {.width = 32, .depth = 2, .batch = 8, .length = 32},
          .medium = {.width = 64, .depth = 12, .batch = 32, .length = 128},
          .large = {.width = 256, .depth = 16, .batch = 32, .length = 256},
          .learning_rate = 2e-3,
          .epochs = 5,
          .optimizer = adamw,
          .make = make};
}

}  // namespace regrow::cli
