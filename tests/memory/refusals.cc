// SPDX-License-Identifier: Apache-2.0
// The system has no more to give: nothing is counted that is not there, and what was given stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstring>
#include <fstream>
#include <string>
#include <system_error>

#include "regrow/base/error.h"
#include "regrow/base/units.h"
#include "regrow/memory/arena.h"
#include "regrow/memory/poison.h"

namespace regrow::memory {
namespace {

// Bytes that this process has, by a line of /proc/self/status.
std::size_t status_bytes(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == name + ":") return status >> word, std::stoul(word) * 1024;
  return 0;
}

// Of writable memory, or of addresses, while it lives.
class Limit {
 public:
  Limit(int resource, std::size_t bytes) : resource_(resource) {
    getrlimit(resource, &before_);
    rlimit now = before_;
    now.rlim_cur = bytes;
    setrlimit(resource, &now);
  }
  ~Limit() { setrlimit(resource_, &before_); }

 private:
  int resource_;
  rlimit before_{};
};

class ArenaRefused : public testing::Test {
 protected:
  void SetUp() override {
    if (shadowed) GTEST_SKIP() << "a sanitizer maps more than any limit would let it";
  }
};

TEST_F(ArenaRefused, ACommitChangesNothing) {
  Arena arena(MiB(256));
  arena.commit(0, MiB(1));
  std::memset(arena.at(0), 7, MiB(1));
  {
    const Limit limit(RLIMIT_DATA, status_bytes("VmData") + MiB(2));
    try {
      arena.commit(MiB(2), MiB(64));
      ADD_FAILURE() << "it was given";
    } catch (const Error& error) {
      EXPECT_THAT(error.message(), testing::HasSubstr("the system has no memory for 64.0 MiB more"));
    }
    EXPECT_EQ(arena.committed(), MiB(1));
    arena.commit(MiB(2), MiB(1));
  }
  arena.commit(MiB(3), MiB(64));
  std::memset(arena.at(MiB(2)), 8, MiB(65));
  EXPECT_EQ(arena.committed(), MiB(66));
  EXPECT_EQ(arena.at(0)[MiB(1) - 1], std::byte{7});
}

TEST_F(ArenaRefused, AMoveThatFailsLeavesNeitherRange) {
  Arena arena(MiB(256));
  arena.commit(0, MiB(1));
  arena.commit(MiB(10), MiB(1));
  {
    const Limit limit(RLIMIT_DATA, 4096);
    EXPECT_THROW(arena.move(0, MiB(4), MiB(1)), Error);
  }
  EXPECT_EQ(arena.committed(), MiB(1));
  for (std::size_t at : {MiB(0), MiB(4)}) {  // the kernel leaves a hole where it has refused to move something
    arena.commit(at, MiB(1));
    std::memset(arena.at(at), 9, MiB(1));
  }
  arena.move(MiB(10), MiB(20), MiB(1));
  EXPECT_EQ(arena.committed(), MiB(3));
}

TEST_F(ArenaRefused, AddressesAreAnErrorOfTheConstructor) {
  const Limit limit(RLIMIT_AS, status_bytes("VmSize") + MiB(64));
  EXPECT_THROW(Arena(MiB(1024)), std::system_error);
  EXPECT_NO_THROW(Arena(MiB(16)));
}

}  // namespace
}  // namespace regrow::memory
