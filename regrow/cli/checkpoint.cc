// SPDX-License-Identifier: Apache-2.0
#include "regrow/cli/checkpoint.h"

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>

namespace regrow::cli {
namespace {

constexpr std::int64_t largest = std::int64_t{1} << 40;

class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : path_(path.string()), metadata_(io::read_metadata(path)) {}

  const std::string* find(const std::string& name) const {
    const auto found = metadata_.find(name);
    return found == metadata_.end() ? nullptr : &found->second;
  }
  const std::string& text(const std::string& name) const {
    const std::string* found = find(name);
    require(found != nullptr, "{}: not a checkpoint of `regrow train`: its metadata have no '{}'", path_, name);
    return *found;
  }
  template <class T>
  T number(const std::string& name, T least, T most) const {
    const std::string& written = text(name);
    T value{};
    const auto [end, code] = std::from_chars(written.data(), written.data() + written.size(), value);
    require(code == std::errc() && end == written.data() + written.size() && value >= least && value <= most,
            "{}: not a checkpoint of `regrow train`: '{}' is not a value of '{}'", path_, written, name);
    return value;
  }

 private:
  std::string path_;
  io::Metadata metadata_;
};

}  // namespace

io::Metadata metadata_of(const Training& training) {
  const Extent& extent = training.extent;
  io::Metadata metadata = {{"model", std::string(training.model->name)},
                           {"width", std::to_string(extent.width)},
                           {"depth", std::to_string(extent.depth)},
                           {"batch", std::to_string(extent.batch)},
                           {"length", std::to_string(extent.length)},
                           {"seed", std::to_string(training.seed)},
                           {"learning_rate", fmt::format("{}", training.learning_rate)},
                           {"steps", std::to_string(training.steps)}};
  if (training.vocabulary) metadata["vocabulary"] = data::encode_utf8(training.vocabulary->characters());
  return metadata;
}

Training read_training(const std::filesystem::path& path) {
  const Reader reader(path);
  Training training;
  training.model = find_model(reader.text("model"));
  require(training.model != nullptr, "{}: its model is named '{}', which this program does not know", path.string(),
          reader.text("model"));
  const auto size = [&](const char* name) { return reader.number<std::int64_t>(name, 0, largest); };
  training.extent = {.width = size("width"), .depth = size("depth"), .batch = size("batch"), .length = size("length")};
  training.seed = reader.number<std::uint64_t>("seed", 0, ~std::uint64_t{0});
  training.learning_rate = reader.number<double>("learning_rate", 0, 1e9);
  training.steps = size("steps");
  if (const std::string* characters = reader.find("vocabulary"))
    training.vocabulary = data::Vocabulary(data::decode_utf8(*characters, path.string() + ": vocabulary"));
  return training;
}

}  // namespace regrow::cli
