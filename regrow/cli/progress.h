// SPDX-License-Identifier: Apache-2.0
// How far a training run is: one line redrawn on a terminal, plain lines now and then elsewhere. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace regrow::cli {

struct Standing {
  std::int64_t step = 0;   // done
  std::int64_t steps = 0;  // in all
  double loss = 0;
  double items_per_second = 0;
  std::size_t live_bytes = 0;
  std::size_t peak_bytes = 0;
  std::size_t budget_bytes = 0;  // 0: none
  double recompute_share = 0;    // of the time
  double seconds_left = 0;
};

// "step 120/938  loss 0.5123  4810 images/s  live 12.1 MiB  peak 40.3 MiB  0:42 left", where `units` are images.
std::string to_string(const Standing& standing, std::string_view units);
// The same behind a bar, cut to `columns`.
std::string bar_line(const Standing& standing, std::string_view units, int columns);
// "0:07", "12:00", "1:02:03".
std::string format_duration(double seconds);

class Progress {
 public:
  // Writes to `out`; redraws if that is a terminal.
  // `steps`: that will be done while it watches.
  Progress(std::FILE* out, std::string_view units, std::int64_t steps);
  // Whether it is time to show the run after `step` of them (the first, the last, and often enough in between). Asking what is
  // shown may cost a wait, so ask this first.
  bool due(std::int64_t step, double seconds) const;
  void show(const Standing& standing, std::int64_t step, double seconds);
  // Leaves the line that is redrawn, so that other output begins one of its own.
  void finish();

 private:
  std::FILE* out_;
  std::string_view units_;
  std::int64_t steps_;
  bool terminal_;
  bool drawn_ = false;
  std::int64_t shown_step_ = 0;
  double shown_at_ = -1e9;
};

}  // namespace regrow::cli
