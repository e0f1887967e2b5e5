// SPDX-License-Identifier: Apache-2.0
// `regrow sample`: text from a checkpoint, one character after another.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <string>

#include "regrow/cli/checkpoint.h"
#include "regrow/cli/commands.h"
#include "regrow/cli/engine_options.h"
#include "regrow/data/random.h"

namespace regrow::cli {
namespace {

struct Line {
  std::string checkpoint, prompt = "\n";
  std::int64_t length = 200;
  double temperature = 1;
  std::uint64_t seed = 0;
  EngineOptions engine;
};

// An index with a probability in proportion to exp(logit / temperature); at temperature 0 the largest.
std::int64_t draw(const std::vector<float>& logits, double temperature, data::SplitMix64& random) {
  const auto most = std::max_element(logits.begin(), logits.end());
  if (temperature == 0) return most - logits.begin();
  std::vector<double> weights;
  double sum = 0;
  for (float logit : logits) weights.push_back(sum += std::exp((static_cast<double>(logit) - *most) / temperature));
  const double wanted = random.uniform() * sum;
  return std::upper_bound(weights.begin(), weights.end() - 1, wanted) - weights.begin();
}

int run_sample(const Line& line) {
  const Training training = read_training(line.checkpoint);
  require(training.vocabulary && training.vocabulary->size() > 0, "{}: a checkpoint of {}, which writes no text", line.checkpoint,
          training.model->name);
  const data::Vocabulary& vocabulary = *training.vocabulary;
  std::vector<std::int64_t> text = vocabulary.encode(data::decode_utf8(line.prompt, "--prompt"));
  if (text.empty()) throw UsageError("--prompt: it must have at least one character");

  line.engine.apply();
  const Model model = training.model->make({.extent = training.extent, .data = {}, .vocabulary = vocabulary, .learns = false});
  io::load_checkpoint(line.checkpoint, {.module = &model.module, .random_state = false});
  model.module.eval();
  NoGrad guard;
  data::SplitMix64 random(line.seed);
  for (std::int64_t i = 0; i < line.length; ++i) {
    const auto window = std::min<std::int64_t>(static_cast<std::int64_t>(text.size()), training.extent.length);
    const Tensor seen = tensor(std::vector<std::int64_t>(text.end() - window, text.end()), {1, window});
    text.push_back(draw(model.logits(seen)[{0, -1}].to_vector<float>(), line.temperature, random));
    const char32_t character = vocabulary[text.back()];
    std::fputs(data::encode_utf8({&character, 1}).c_str(), stdout);
    std::fflush(stdout);
  }
  std::fputc('\n', stdout);
  return 0;
}

}  // namespace

Command add_sample(CLI::App& app) {
  auto line = std::make_shared<Line>();
  CLI::App* command = app.add_subcommand("sample", "Write text with a model that `regrow train` has saved");
  command->add_option("checkpoint", line->checkpoint, "Of lstm or gpt")->required()->type_name("FILE");
  command->add_option("--length", line->length, "Characters (200)")->check(counts());
  command->add_option("--temperature", line->temperature, "Below 1: likelier characters more often; 0: always the likeliest (1)")
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--seed", line->seed, "Of the choice of characters (0)");
  command->add_option("--prompt", line->prompt, "The text that goes before, not printed (a line break)");
  line->engine.add_to(*command);
  return [line] { return run_sample(*line); };
}

}  // namespace regrow::cli
