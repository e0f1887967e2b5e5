// SPDX-License-Identifier: Apache-2.0
#include "regrow/cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "regrow/base/units.h"

namespace regrow::cli {
namespace {

constexpr double redraw_seconds = 0.25;
constexpr double line_seconds = 30;        // without a terminal: no longer silent than this
constexpr std::int64_t lines_in_all = 10;  // without a terminal: about as many over the run
constexpr int bar_cells = 20;

int columns_of(std::FILE* out) {
  winsize size{};
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string format_duration(double seconds) {
  const std::int64_t whole = std::isfinite(seconds) && seconds > 0 ? static_cast<std::int64_t>(std::min(seconds, 1e9) + 0.5) : 0;
  const std::int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string to_string(const Standing& s, std::string_view units) {
  std::string budget;
  if (s.budget_bytes > 0) budget = fmt::format(" of {}  regrown {:.1f} %", format_bytes(s.budget_bytes), 100 * s.recompute_share);
  return fmt::format("step {}/{}  loss {:.4f}  {:.0f} {}/s  live {}  peak {}{}  {} left", s.step, s.steps, s.loss,
                     s.items_per_second, units, format_bytes(s.live_bytes), format_bytes(s.peak_bytes), budget,
                     format_duration(s.seconds_left));
}

std::string bar_line(const Standing& s, std::string_view units, int columns) {
  const std::int64_t full = s.steps > 0 ? bar_cells * s.step / s.steps : bar_cells;
  std::string line =
      fmt::format("[{:.<{}}] {}", std::string(static_cast<std::size_t>(full), '#'), bar_cells, to_string(s, units));
  // A line that reaches the last column wraps on some terminals, and then is not redrawn but repeated.
  if (static_cast<int>(line.size()) >= columns) line.resize(static_cast<std::size_t>(std::max(columns - 1, 0)));
  return line;
}

Progress::Progress(std::FILE* out, std::string_view units, std::int64_t steps)
    : out_(out), units_(units), steps_(steps), terminal_(isatty(fileno(out)) == 1) {}

bool Progress::due(std::int64_t step, double seconds) const {
  if (step == steps_) return true;
  if (terminal_) return seconds - shown_at_ >= redraw_seconds;
  return shown_step_ == 0 || (step - shown_step_) * lines_in_all >= steps_ || seconds - shown_at_ >= line_seconds;
}

void Progress::show(const Standing& standing, std::int64_t step, double seconds) {
  shown_step_ = step;
  shown_at_ = seconds;
  if (terminal_) {
    std::fputs(("\r\x1b[K" + bar_line(standing, units_, columns_of(out_))).c_str(), out_);
  } else {
    std::fputs((to_string(standing, units_) + "\n").c_str(), out_);
  }
  drawn_ = true;
  std::fflush(out_);
}

void Progress::finish() {
  if (terminal_ && drawn_) std::fputc('\n', out_);
  drawn_ = false;
}

}  // namespace regrow::cli
