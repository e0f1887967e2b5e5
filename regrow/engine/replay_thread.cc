// SPDX-License-Identifier: Apache-2.0
#include "regrow/engine/replay_thread.h"

#include <pthread.h>
#include <sched.h>

#include <chrono>
#include <ctime>

#include "regrow/base/clock.h"
#include "regrow/base/log.h"
#include "regrow/remat/replay.h"
#include "regrow/remat/tuning.h"

namespace regrow {
namespace {

constexpr double most_share = 0.008;   // of the time since it began
constexpr double patience_steps = 12;  // then the best so far has to do, for now

double thread_cpu_seconds() noexcept {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

std::shared_ptr<ReplayThread> ReplayThread::start(Channel& channel) {
  auto replays = std::make_shared<ReplayThread>(channel);
  runtime::end_with_process(replays);
  replays->born_at_fork_ = runtime::fork_count();
  replays->begin_ns_ = now_ns();
  replays->thread_ = std::thread([raw = replays.get()] { raw->run(); });
  return replays;
}

ReplayThread::~ReplayThread() { end(); }

void ReplayThread::end() noexcept {
  if (born_at_fork_ != runtime::fork_count()) {
    new std::thread(std::move(thread_));  // it exists in the parent only
    return;
  }
  {
    const std::lock_guard lock(mail_->mutex);
    mail_->stop = true;
  }
  mail_->arrived.notify_all();
  if (thread_.joinable()) thread_.join();
}

ReplayReport ReplayThread::report() const {
  const std::lock_guard lock(mail_->mutex);
  ReplayReport report = mail_->report;
  report.elapsed_seconds = elapsed();
  return report;
}

double ReplayThread::elapsed() const noexcept { return 1e-9 * static_cast<double>(now_ns() - begin_ns_); }

bool ReplayThread::stopped() const {
  const std::lock_guard lock(mail_->mutex);
  return mail_->stop;
}

void ReplayThread::rest(double until_elapsed) {
  std::unique_lock lock(mail_->mutex);
  const auto wait = std::chrono::duration<double>(until_elapsed - elapsed());
  mail_->arrived.wait_for(lock, wait, [this] { return mail_->stop || mail_->step.has_value(); });
}

void ReplayThread::run() {
  const sched_param lowest{};
  pthread_setschedparam(pthread_self(), SCHED_IDLE, &lowest);
  try {
    std::uint64_t last = 0;  // likeness of what was replayed
    while (!stopped()) {
      channel_.record_step({.settled = true, .unlike = last}, [mail = mail_](const RecordedStep& step) {
        {
          const std::lock_guard lock(mail->mutex);
          mail->step = step;
        }
        mail->arrived.notify_all();
      });
      std::unique_lock lock(mail_->mutex);
      mail_->arrived.wait(lock, [this] { return mail_->stop || mail_->step.has_value(); });
      if (mail_->stop) return;
      const RecordedStep step = std::move(*std::exchange(mail_->step, std::nullopt));
      lock.unlock();
      last = step.likeness;
      if (step.budget_bytes != 0 && step.trace.devices() == 1) replay(step);
    }
  } catch (const Error&) {
    // The channel is closed.
  } catch (const std::exception& error) {
    log().warn("replays have ended: {}", error.what());
  }
}

// The first settings that are any good are installed after some steps, the best when all have been tried.
void ReplayThread::replay(const RecordedStep& step) {
  const double recorded = elapsed();
  const remat::Outcome unlimited = remat::replay(step.trace, nullptr, 0);
  remat::Tuning tuning(step.trace, unlimited.peak_bytes);
  std::optional<remat::Tuned> installed;
  const auto install = [&] {
    const remat::Tuned best = tuning.best_so_far(step.budget_bytes);
    if (best.outcome.status != remat::Status::ok) return;
    if (installed && !remat::is_better(best.outcome, installed->outcome)) return;
    channel_.tune({.settings = best.settings,
                   .budget_bytes = step.budget_bytes,
                   .mark = best.budget < step.budget_bytes ? best.budget : 0});
    installed = best;
    const std::lock_guard lock(mail_->mutex);
    ++mail_->report.installed;
  };
  bool more = true;
  while (more && !stopped()) {
    const double before = thread_cpu_seconds();
    more = tuning.try_one(step.budget_bytes);
    const double cpu = thread_cpu_seconds();
    {
      const std::lock_guard lock(mail_->mutex);
      mail_->report.cpu_seconds = cpu;
      mail_->report.replays += more;
    }
    const bool late = elapsed() - recorded > patience_steps * step.seconds;
    if (!more || (late && !installed)) install();
    // One more would take as long as this one did.
    const double due = (cpu + (cpu - before)) / most_share;
    if (more && due > elapsed()) {
      if (!installed && due - recorded > patience_steps * step.seconds) install();
      rest(due);
    }
  }
}

}  // namespace regrow
