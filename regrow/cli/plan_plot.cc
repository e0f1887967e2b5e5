// SPDX-License-Identifier: Apache-2.0
// The plot of `regrow plan`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "regrow/cli/plan_report.h"

namespace regrow::cli {
namespace {

using remat::PlanResult;
using remat::Status;

constexpr double width = 720, height = 420, left = 64, right = 120, top = 40, bottom = 48;
constexpr const char* colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f"};

struct Frame {
  double low, high, most;  // ratios, overhead
  double x(double ratio) const { return left + (ratio - low) / (high - low) * (width - left - right); }
  double y(double overhead) const { return height - bottom - overhead / most * (height - top - bottom); }
};

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string axes(const Frame& f) {
  std::string text;
  for (int i = 0; i <= 5; ++i) {
    const double overhead = f.most * i / 5, ratio = f.low + (f.high - f.low) * i / 5;
    text += fmt::format("<line x1='{}' x2='{}' y1='{:.1f}' y2='{:.1f}' stroke='#ddd'/>\n", left, width - right, f.y(overhead),
                        f.y(overhead));
    text +=
        fmt::format("<text x='{}' y='{:.1f}' text-anchor='end'>{:.0f} %</text>\n", left - 8, f.y(overhead) + 4, 100 * overhead);
    text += fmt::format("<text x='{:.1f}' y='{}' text-anchor='middle'>{:.2f}</text>\n", f.x(ratio), height - bottom + 18, ratio);
  }
  text += fmt::format("<text x='{}' y='{}' text-anchor='middle'>budget / peak</text>\n", (left + width - right) / 2, height - 10);
  return text;
}

std::string line(const Frame& f, const std::vector<std::pair<double, double>>& points, const char* colour, const char* dash) {
  std::string path;
  for (const auto& [ratio, overhead] : points) {
    path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ", f.x(ratio), f.y(std::min(overhead, f.most)));
  }
  std::string text =
      fmt::format("<polyline points='{}' fill='none' stroke='{}' stroke-width='2' stroke-dasharray='{}'/>\n", path, colour, dash);
  for (const auto& [ratio, overhead] : points) {
    text +=
        fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='3' fill='{}'/>\n", f.x(ratio), f.y(std::min(overhead, f.most)), colour);
  }
  return text;
}

}  // namespace

std::string plan_svg(const remat::PlanAnswer& answer, const std::string& title) {
  Frame frame{1, 0, 0.05};
  std::vector<std::string> names;
  std::map<std::string, std::vector<std::pair<double, double>>> lines;
  std::map<double, double> bound;
  for (const PlanResult& each : answer.results) {
    frame.low = std::min(frame.low, each.ratio);
    frame.high = std::max(frame.high, each.ratio);
    if (std::isfinite(each.lower_bound)) bound[each.ratio] = each.lower_bound;
    if (std::find(names.begin(), names.end(), each.policy) == names.end()) names.push_back(each.policy);
    if (each.outcome.status != Status::ok) continue;
    frame.most = std::max(frame.most, std::min(each.outcome.overhead(), 1.0));
    lines[each.policy].emplace_back(each.ratio, each.outcome.overhead());
  }
  if (frame.high <= frame.low) frame.low -= 0.05, frame.high = frame.low + 0.1;
  std::string text = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {} {}' font-family='sans-serif' font-size='12'>\n"
      "<rect width='100%' height='100%' fill='white'/>\n<text x='{}' y='22' font-size='14'>{}: operator time that a budget "
      "adds</text>\n",
      width, height, left, escaped(title));
  text += axes(frame);
  text += line(frame, {bound.begin(), bound.end()}, "#000", "3 4");
  text += fmt::format("<text x='{}' y='{}'>- - lower bound</text>\n", width - right + 8, top + 10);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const char* colour = colours[i % std::size(colours)];
    text += line(frame, lines[names[i]], colour, "none");
    text += fmt::format("<text x='{}' y='{}' fill='{}'>{}</text>\n", width - right + 8, top + 28 + 18 * static_cast<double>(i),
                        colour, escaped(names[i]));
  }
  return text + "</svg>\n";
}

}  // namespace regrow::cli
