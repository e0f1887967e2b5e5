// SPDX-License-Identifier: Apache-2.0
#include "regrow/cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "regrow/base/units.h"

namespace regrow::cli {
namespace {

const Standing half_way{.step = 469,
                        .steps = 938,
                        .loss = 0.51234,
                        .items_per_second = 4810.4,
                        .live_bytes = MiB(12),
                        .peak_bytes = MiB(40),
                        .seconds_left = 42.4};

TEST(Progress, ALineHoldsStepLossSpeedMemoryAndTimeLeft) {
  EXPECT_EQ(to_string(half_way, "images"), "step 469/938  loss 0.5123  4810 images/s  live 12.0 MiB  peak 40.0 MiB  0:42 left");
}

TEST(Progress, TheBarIsFilledInProportion) {
  EXPECT_EQ(bar_line(half_way, "images", 200).substr(0, 22), "[##########..........]");
  Standing standing = half_way;
  standing.step = 0;
  EXPECT_EQ(bar_line(standing, "images", 200).substr(0, 22), "[....................]");
  standing.step = 938;
  EXPECT_EQ(bar_line(standing, "images", 200).substr(0, 22), "[####################]");
}

TEST(Progress, TheBarNeverReachesTheLastColumn) {
  for (int columns : {0, 1, 10, 80, 120})
    EXPECT_LT(bar_line(half_way, "images", columns).size(), std::max(columns, 1)) << columns;
}

TEST(Progress, DurationsReadLikeAClock) {
  EXPECT_EQ(format_duration(0), "0:00");
  EXPECT_EQ(format_duration(7.4), "0:07");
  EXPECT_EQ(format_duration(59.6), "1:00");
  EXPECT_EQ(format_duration(3723), "1:02:03");
  EXPECT_EQ(format_duration(-1), "0:00");
  EXPECT_EQ(format_duration(1 / 0.0), "0:00");
}

TEST(Progress, WithoutATerminalThereAreAboutTenPlainLines) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  Progress progress(file.get(), "images", 100);
  int lines = 0;
  for (int step = 1; step <= 100; ++step) {
    if (!progress.due(step, step * 0.01)) continue;
    progress.show({.step = step, .steps = 100}, step, step * 0.01);
    ++lines;
  }
  progress.finish();
  EXPECT_EQ(lines, 11);  // the first, every tenth after it, the last
  std::rewind(file.get());
  std::string text(10000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 11);
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("\r")));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("\x1b")));
}

TEST(Progress, SlowStepsAreShownEveryHalfMinute) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), std::fclose);
  Progress progress(file.get(), "images", 1000000);
  progress.show({.step = 1, .steps = 1000000}, 1, 10);
  EXPECT_FALSE(progress.due(2, 39));
  EXPECT_TRUE(progress.due(2, 40));
}

}  // namespace
}  // namespace regrow::cli
