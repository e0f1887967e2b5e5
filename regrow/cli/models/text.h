// SPDX-License-Identifier: Apache-2.0
// What models of text have in common: they predict the next character, and are judged by their perplexity on the end of the text.
// Main thread.
#pragma once

#include <functional>
#include <memory>

#include "regrow/cli/models/model.h"

namespace regrow::cli {

struct TextSource {
  data::Vocabulary vocabulary;
  std::shared_ptr<data::TextLoader> loader;  // null: the model does not learn
};

// Throws Error on a bad text, one that is too short, and one with characters that an earlier vocabulary lacks.
TextSource read_source(const Setting& setting);

// `loss`: of characters (n, length) and the ones that follow, (n length,); a mean.
Model language_model(nn::Module module, TextSource source, std::function<Tensor(const Tensor&, const Tensor&)> loss,
                     std::function<Tensor(const Tensor& characters)> logits);

}  // namespace regrow::cli
