// SPDX-License-Identifier: Apache-2.0
#include "regrow/cli/train.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "regrow/base/clock.h"
#include "regrow/cli/progress.h"
#include "regrow/data/loader.h"

namespace regrow::cli {
namespace {

// Losses are read this many steps late: the engine always has work while the program waits, and the program never runs further
// ahead than that.
constexpr std::size_t steps_ahead = 4;
constexpr std::int64_t test_batch = 500;

double seconds_since(std::uint64_t begin_ns) { return static_cast<double>(now_ns() - begin_ns) * 1e-9; }

class Trainer {
 public:
  Trainer(const TrainOptions& options, data::TrainAndTest sets)
      : options_(options),
        train_(std::move(sets.train), {.batch = options.batch, .seed = options.seed}),
        test_(std::move(sets.test), {.batch = test_batch, .shuffle = false}) {
    require(train_.items() > 0, "there is nothing to learn from: no training images");
    seed(options.seed);
    model_ = options.model->make();
    optimizer_ =
        std::make_unique<optim::Adam>(model_.module.parameters(), optim::AdamOptions{.learning_rate = options.learning_rate});
    steps_ = options.steps.value_or(options.epochs * train_.batches());
  }

  TrainResult run() {
    TrainResult result;
    result.model = options_.model->name;
    result.steps = steps_;
    learn(result);
    result.accuracy = accuracy();
    result.params_hash = hash_parameters(result.parameters);
    return result;
  }

 private:
  // A step that is under way: its loss, not yet read.
  struct Pending {
    std::int64_t step;
    Tensor loss;
    std::int64_t images;
  };

  void learn(TrainResult& result) {
    sync();
    reset_peak_memory();
    const std::uint64_t issued = memory().operators;
    Progress progress(stdout, steps_);
    begin_ns_ = last_ns_ = now_ns();
    std::deque<Pending> pending;
    for (std::int64_t step = 0; step < steps_; ++step) {
      pending.push_back(issue(step));
      if (pending.size() > steps_ahead) finish_oldest(pending, progress);
    }
    while (!pending.empty()) finish_oldest(pending, progress);
    progress.finish();
    sync();
    const MemoryReport report = memory();
    result.seconds = seconds_since(begin_ns_);
    result.loss = loss_;
    result.peak_bytes = report.peak_bytes;
    result.operators = report.operators - issued;
    result.seconds_per_step = median_step();
  }

  // In a hundred levels rather than a new one each step: costs are measured for each operator with its attributes.
  double learning_rate_at(std::int64_t step) const {
    return options_.learning_rate * static_cast<double>(100 - 100 * step / steps_) / 100;
  }

  Pending issue(std::int64_t step) {
    const data::Batch batch = train_.batch(step / train_.batches(), step % train_.batches());
    optimizer_->set_learning_rate(learning_rate_at(step));
    Tensor loss = cross_entropy(model_.logits(tensor(batch.images)), tensor(batch.labels));
    optimizer_->zero_grad();
    loss.backward();
    optimizer_->step();
    return {step, loss.detach(), batch.labels.count()};
  }

  void finish_oldest(std::deque<Pending>& pending, Progress& progress) {
    const Pending done = std::move(pending.front());
    pending.pop_front();
    loss_ = done.loss.item<float>();
    const std::uint64_t now = now_ns();
    seconds_.push_back(static_cast<double>(now - last_ns_) * 1e-9);
    last_ns_ = now;
    images_ += done.images;

    const double elapsed = seconds_since(begin_ns_);
    const std::int64_t finished = done.step + 1;
    if (!progress.due(finished, elapsed)) return;
    const MemoryReport report = memory();
    progress.show({.step = finished,
                   .steps = steps_,
                   .loss = loss_,
                   .images_per_second = static_cast<double>(images_) / elapsed,
                   .live_bytes = report.live_bytes,
                   .peak_bytes = report.peak_bytes,
                   .seconds_left = elapsed / static_cast<double>(finished) * static_cast<double>(steps_ - finished)},
                  elapsed);
  }

  double median_step() {
    if (seconds_.empty()) return 0;
    const auto middle = seconds_.begin() + static_cast<std::ptrdiff_t>(seconds_.size() / 2);
    std::nth_element(seconds_.begin(), middle, seconds_.end());
    return *middle;
  }

  double accuracy() {
    if (test_.items() == 0) return 0;
    NoGrad guard;
    model_.module.eval();
    std::int64_t right = 0;
    for (std::int64_t i = 0; i < test_.batches(); ++i) {
      const data::Batch batch = test_.batch(0, i);
      right += count_right(model_.logits(tensor(batch.images)).to_vector<float>(), batch.labels.to_vector<std::int64_t>());
    }
    return static_cast<double>(right) / static_cast<double>(test_.items());
  }

  static std::int64_t count_right(const std::vector<float>& logits, const std::vector<std::int64_t>& labels) {
    const std::size_t classes = logits.size() / labels.size();
    std::int64_t right = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto row = logits.begin() + static_cast<std::ptrdiff_t>(i * classes);
      right += std::max_element(row, row + static_cast<std::ptrdiff_t>(classes)) - row == labels[i];
    }
    return right;
  }

  std::string hash_parameters(std::int64_t& count) const {
    const std::unique_ptr<XXH64_state_t, XXH_errorcode (*)(XXH64_state_t*)> state(XXH64_createState(), XXH64_freeState);
    XXH64_reset(state.get(), 0);
    for (const auto& [name, parameter] : model_.module.named_parameters()) {
      const HostArray value = parameter.value().host();
      XXH64_update(state.get(), value.data(), value.bytes());
      count += value.count();
    }
    return fmt::format("{:016x}", XXH64_digest(state.get()));
  }

  const TrainOptions& options_;
  data::Loader train_, test_;
  Model model_;
  std::unique_ptr<optim::Adam> optimizer_;
  std::int64_t steps_ = 0;

  std::uint64_t begin_ns_ = 0, last_ns_ = 0;
  std::vector<double> seconds_;  // of each step
  std::int64_t images_ = 0;
  double loss_ = 0;
};

}  // namespace

TrainResult train(const TrainOptions& options) {
  data::TrainAndTest sets = data::read_mnist(options.data.empty() ? data::find_fashion_mnist() : options.data);
  return Trainer(options, std::move(sets)).run();
}

}  // namespace regrow::cli
