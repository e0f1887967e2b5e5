// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/command_buffer.h"

#include <gtest/gtest.h>

namespace regrow::runtime {
namespace {

// More than a block holds (64), so that a group that is executed at once begins in one block and ends in another.
TEST(CommandBuffer, CommandsArePoppedInOrderAcrossBlocks) {
  CommandBuffer buffer;
  std::uint64_t expected = 1;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 100; ++i) buffer.begin(Command::Kind::sync, Site::here()), buffer.commit();
    buffer.release();
    for (int group = 0; group < 10; ++group) {
      EXPECT_EQ(buffer.head()->id, expected);
      for (int i = 0; i < 10; ++i, ++expected) buffer.pop(1);
      EXPECT_EQ(buffer.executed(), expected - 1);
    }
  }
}

}  // namespace
}  // namespace regrow::runtime
