// SPDX-License-Identifier: Apache-2.0
// How far a training run is: one line redrawn on a terminal, plain lines now and then elsewhere. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace regrow::cli {

struct Standing {
  std::int64_t step = 0;   // done
  std::int64_t steps = 0;  // in all
  double loss = 0;
  double images_per_second = 0;
  std::size_t live_bytes = 0;
  std::size_t peak_bytes = 0;
  double seconds_left = 0;
};

// "step 120/938  loss 0.5123  4810 images/s  live 12.1 MiB  peak 40.3 MiB  0:42 left"
std::string to_string(const Standing& standing);
// The same behind a bar, cut to `columns`.
std::string bar_line(const Standing& standing, int columns);
// "0:07", "12:00", "1:02:03".
std::string format_duration(double seconds);

class Progress {
 public:
  // Writes to `out`; redraws if that is a terminal.
  Progress(std::FILE* out, std::int64_t steps);
  // Whether it is time to show step `step` (the first, the last, and often enough in between). Asking what is shown may cost
  // a wait, so ask this first.
  bool due(std::int64_t step, double seconds) const;
  void show(const Standing& standing, double seconds);
  // Leaves the line that is redrawn, so that other output begins one of its own.
  void finish();

 private:
  std::FILE* out_;
  std::int64_t steps_;
  bool terminal_;
  bool drawn_ = false;
  std::int64_t shown_step_ = 0;
  double shown_at_ = -1e9;
};

}  // namespace regrow::cli
