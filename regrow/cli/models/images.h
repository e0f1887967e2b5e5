// SPDX-License-Identifier: Apache-2.0
// What models of images have in common: Fashion-MNIST, or files like it, and how classifiers are trained and judged. Main thread.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "regrow/cli/models/model.h"
#include "regrow/data/loader.h"

namespace regrow::cli {

struct ImageSets {
  data::Loader train, test;
};

// `shape`: how images are shrunk and padded. Throws Error on bad data, and if there is nothing to learn from.
std::shared_ptr<ImageSets> read_images(const Setting& setting, data::LoaderOptions shape = {});

// Ten classes: cross entropy, judged by the share of test images that are right.
Model classifier(nn::Module module, std::function<Tensor(const Tensor& images)> logits, std::shared_ptr<ImageSets> sets);

}  // namespace regrow::cli
