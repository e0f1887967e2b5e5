// SPDX-License-Identifier: Apache-2.0
#include "regrow/data/images.h"

#include <cstdlib>
#include <string>
#include <string_view>

#include "regrow/data/idx.h"

namespace regrow::data {
namespace {

constexpr std::string_view debian_folder = "/usr/share/datasets/fashion-mnist";

std::filesystem::path plain_or_gzipped(const std::filesystem::path& folder, std::string_view name) {
  std::error_code ignored;
  for (std::string_view ending : {"", ".gz"}) {
    std::filesystem::path path = folder / (std::string(name) + std::string(ending));
    if (std::filesystem::exists(path, ignored)) return path;
  }
  fail("{}: there is neither {} nor {}.gz in this folder", folder.string(), name, name);
}

}  // namespace

LabelledImages read_labelled_images(const std::filesystem::path& images, const std::filesystem::path& labels, int classes) {
  LabelledImages set{read_idx(images), read_idx(labels)};
  const Shape& shape = set.images.shape();
  require(set.images.dtype() == DType::u8 && shape.rank() == 3, "{}: images must be u8 of 3 axes, not {} {}", images.string(),
          name_of(set.images.dtype()), to_string(shape));
  require(set.labels.dtype() == DType::u8 && set.labels.shape().rank() == 1, "{}: labels must be u8 of 1 axis, not {} {}",
          labels.string(), name_of(set.labels.dtype()), to_string(set.labels.shape()));
  require(set.labels.count() == set.count(), "{}: {} labels for {} images in {}", labels.string(), set.labels.count(),
          set.count(), images.string());
  for (std::int64_t i = 0; i < set.labels.count(); ++i) {
    const int label = std::to_integer<int>(set.labels.data()[i]);
    require(label < classes, "{}: label {} is {}, but there are {} classes", labels.string(), i, label, classes);
  }
  return set;
}

TrainAndTest read_mnist(const std::filesystem::path& folder) {
  std::error_code ignored;
  require(std::filesystem::is_directory(folder, ignored), "{}: no such folder", folder.string());
  auto read = [&](const std::string& part) {
    const std::filesystem::path images = plain_or_gzipped(folder, part + "-images-idx3-ubyte");
    return read_labelled_images(images, plain_or_gzipped(folder, part + "-labels-idx1-ubyte"));
  };
  return {read("train"), read("t10k")};
}

std::filesystem::path find_fashion_mnist() {
  const char* chosen = std::getenv("REGROW_DATA");
  if (chosen && *chosen) return chosen;
  std::error_code ignored;
  require(std::filesystem::is_directory(debian_folder, ignored),
          "Fashion-MNIST is not at {}: install Debian's package dataset-fashion-mnist, or name a folder with its IDX files",
          debian_folder);
  return debian_folder;
}

}  // namespace regrow::data
