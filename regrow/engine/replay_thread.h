// SPDX-License-Identifier: Apache-2.0
// Replays a channel's steps in the background, at idle priority, and has its policy go on with the settings under which the last
// one would have been fastest. Any thread. (DESIGN 7: replay in the loop.)
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "regrow/runtime/channel.h"
#include "regrow/runtime/process.h"

namespace regrow {

struct ReplayReport {
  double cpu_seconds = 0;      // that replaying has taken
  double elapsed_seconds = 0;  // since it began to listen
  std::uint64_t replays = 0;
  std::uint64_t installed = 0;  // tunings that the channel was given
};

// A step is replayed once it repeats the one before, and again when the program or the budget has changed. The thread takes one
// percent of the time at most.
class ReplayThread final : public runtime::EndsWithProcess {
 public:
  // Listens from now on. The channel outlives it.
  static std::shared_ptr<ReplayThread> start(Channel& channel);
  explicit ReplayThread(Channel& channel) : channel_(channel) {}
  ~ReplayThread() override;

  ReplayReport report() const;
  void end() noexcept override;

 private:
  // What the worker and whoever ends the thread tell it.
  struct Mail {
    std::mutex mutex;
    std::condition_variable arrived;
    std::optional<RecordedStep> step;
    bool stop = false;
    ReplayReport report;
  };

  void run();
  void replay(const RecordedStep& step);
  void rest(double until_elapsed);  // returns early when something arrives
  bool stopped() const;
  double elapsed() const noexcept;

  Channel& channel_;
  std::shared_ptr<Mail> mail_ = std::make_shared<Mail>();
  std::uint64_t begin_ns_ = 0;
  std::uint32_t born_at_fork_ = 0;
  std::thread thread_;
};

}  // namespace regrow
