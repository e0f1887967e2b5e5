// SPDX-License-Identifier: Apache-2.0
// What is spilled comes back, or says clearly why not: sizes, recycled space, and each fault that a disk may have.
#include "regrow/memory/spill_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <vector>

#include "regrow/base/error.h"
#include "regrow/base/units.h"
#include "tests/error_message.h"
#include "tests/temporary_folder.h"

namespace regrow::memory {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Memory as an arena gives it: whole pages, or `shift` bytes beside them.
class Block {
 public:
  explicit Block(std::size_t bytes, std::size_t shift = 0, unsigned seed = 1) : size_(bytes + 8192) {
    data_ = static_cast<std::byte*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    bytes_ = {data_ + shift, bytes};
    for (std::size_t i = 0; i < bytes; ++i) bytes_[i] = static_cast<std::byte>(i * 31 + i / 4096 + seed);
  }
  ~Block() { munmap(data_, size_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  std::span<std::byte> bytes() const { return bytes_; }
  bool operator==(const Block& other) const { return std::ranges::equal(bytes_, other.bytes_); }

 private:
  std::size_t size_;
  std::byte* data_;
  std::span<std::byte> bytes_;
};

struct Case {
  bool direct;
  std::size_t bytes, shift;
};
void PrintTo(const Case& c, std::ostream* out) { *out << (c.direct ? "direct " : "buffered ") << c.bytes << " bytes + " << c.shift; }

class SpillSizes : public testing::TestWithParam<Case> {};

TEST_P(SpillSizes, WhatWasWrittenIsReadBackAsOftenAsWanted) {
  const auto [direct, bytes, shift] = GetParam();
  const TemporaryFolder directory;
  SpillStore store(directory.path(), {.direct = direct});
  EXPECT_TRUE(direct || !store.direct());
  const Block data(bytes, shift);
  store.write(7, data.bytes());
  EXPECT_TRUE(store.has(7));
  EXPECT_EQ(store.bytes(), bytes);
  EXPECT_EQ(store.written(), bytes);
  for (std::size_t other_shift : {shift, std::size_t{0}, std::size_t{64}}) {
    const Block back(bytes, other_shift, 99);
    store.read(7, back.bytes());
    EXPECT_EQ(back, data);
  }
  store.forget(7);
  EXPECT_FALSE(store.has(7));
  EXPECT_EQ(store.bytes(), 0u);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (bool direct : {true, false})
    for (std::size_t shift : {0, 64})
      for (std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{64}, std::size_t{4096}, std::size_t{4097}, KiB(64),
                                SpillStore::staging_bytes, SpillStore::staging_bytes + 1, MiB(3) + 5, MiB(33)})
        all.push_back({direct, bytes, shift});
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, SpillSizes, testing::ValuesIn(cases()));

TEST(SpillStore, RandomWritesAndForgetsUseTheSpaceAgain) {
  const TemporaryFolder directory;
  SpillStore store(directory.path());
  std::mt19937 random(5);
  std::map<Store::Id, std::pair<std::size_t, unsigned>> kept;
  std::size_t pages = 0, most = 0;
  const auto pages_of = [](std::size_t bytes) { return (bytes + 4095) / 4096; };
  for (unsigned step = 0; step < 2000; ++step) {
    const Store::Id id = random() % 40;
    if (const auto found = kept.find(id); found != kept.end()) {
      const Block back(found->second.first), expected(found->second.first, 0, found->second.second);
      store.read(id, back.bytes());
      ASSERT_EQ(back, expected);
      store.forget(id);
      pages -= pages_of(found->second.first);
      kept.erase(found);
    } else {
      const std::size_t bytes = random() % KiB(128);
      store.write(id, Block(bytes, 0, step).bytes());
      kept[id] = {bytes, step};
      pages += pages_of(bytes);
    }
    most = std::max(most, pages);
  }
  EXPECT_LE(store.file_bytes(), 2 * most * 4096) << "holes of sizes that nothing fits are all that is lost";
  for (const auto& each : kept) store.forget(each.first);
  const std::uint64_t before = store.file_bytes();
  store.write(0, Block(before).bytes());
  EXPECT_EQ(store.file_bytes(), before) << "free neighbours are one";
}

TEST(SpillStore, RefusesWhatMakesNoSense) {
  const TemporaryFolder directory;
  SpillStore store(directory.path());
  const Block data(10), longer(11);
  EXPECT_THROW(store.read(0, data.bytes()), Error);
  store.write(0, data.bytes());
  EXPECT_THROW(store.write(0, data.bytes()), Error);
  EXPECT_THROW(store.read(0, longer.bytes()), Error);
  store.forget(12345);
  EXPECT_EQ(store.bytes(), 10u);
}

TEST(SpillStore, TheFileHasNoName) {
  const TemporaryFolder directory;
  SpillStore store(directory.path() / "made" / "when needed");
  store.write(0, Block(MiB(1)).bytes());
  EXPECT_TRUE(std::filesystem::is_empty(store.directory()));
}

// Whatever ends the process, between any two instructions.
TEST(SpillStore, NothingIsLeftWhenTheProcessIsKilled) {
  const TemporaryFolder directory;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    SpillStore store(directory.path());
    store.write(0, Block(MiB(4)).bytes());
    if (::write(ready[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  ::close(ready[0]), ::close(ready[1]);
}

TEST(SpillStore, ADirectoryInMemoryIsUsedWithAWarning) {
  if (!std::filesystem::exists("/dev/shm")) GTEST_SKIP() << "there is no /dev/shm";
  testing::internal::CaptureStderr();
  SpillStore store("/dev/shm");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), AllOf(HasSubstr("/dev/shm"), HasSubstr("tmpfs")));
  EXPECT_TRUE(store.in_memory());
  const Block data(MiB(1)), back(MiB(1), 0, 2);
  store.write(0, data.bytes());
  store.read(0, back.bytes());
  EXPECT_EQ(back, data);
}

TEST(SpillFaults, ADirectoryThatCannotBeUsedIsNamed) {
  const TemporaryFolder directory;
  std::ofstream(directory.path() / "file") << "not a directory";
  EXPECT_THAT(error_message([&] { SpillStore store(directory.path() / "file"); }), HasSubstr((directory.path() / "file").string()));
  EXPECT_THAT(error_message([&] { SpillStore store(directory.path() / "file" / "below"); }), HasSubstr("cannot be made"));
  FileCalls calls;
  calls.open = [](const std::string&) { return errno = EACCES, -1; };
  EXPECT_THAT(error_message([&] { SpillStore store(directory.path(), {.calls = calls}); }),
              AllOf(HasSubstr(directory.path().string()), HasSubstr("Permission denied")));
}

TEST(SpillFaults, AFullDiskIsAnErrorAndNothingIsKept) {
  for (bool direct : {true, false}) {
    const TemporaryFolder directory;
    off_t capacity = 0;
    FileCalls calls;
    calls.pwrite = [&](int file, const void* data, std::size_t bytes, off_t at) -> ssize_t {
      if (at >= capacity) return errno = ENOSPC, -1;
      return ::pwrite(file, data, std::min(bytes, static_cast<std::size_t>(capacity - at)), at);  // as much as there is room for
    };
    SpillStore store(directory.path(), {.direct = direct, .calls = calls});
    const Block data(MiB(1)), back(MiB(1), 0, 2);
    capacity = KiB(512);
    EXPECT_THAT(error_message([&] { store.write(3, data.bytes()); }),
                AllOf(HasSubstr("1.0 MiB"), HasSubstr(directory.path().string()), HasSubstr("No space left")));
    EXPECT_FALSE(store.has(3));
    EXPECT_EQ(store.bytes() + store.written(), 0u);
    capacity = MiB(1);  // the same place again: room was made
    store.write(3, data.bytes());
    EXPECT_EQ(store.file_bytes(), MiB(1));
    store.read(3, back.bytes());
    EXPECT_EQ(back, data);
  }
}

TEST(SpillFaults, CallsThatDoLessThanAskedOrAreInterruptedAreRepeated) {
  for (bool direct : {true, false}) {
    const TemporaryFolder directory;
    std::mt19937 random(1);
    const auto part = [&](std::size_t bytes) { return direct ? (1 + random() % (bytes / 4096)) * 4096 : 1 + random() % bytes; };
    FileCalls calls;
    calls.pwrite = [&](int file, const void* data, std::size_t bytes, off_t at) -> ssize_t {
      return random() % 3 == 0 ? (errno = EINTR, -1) : ::pwrite(file, data, part(bytes), at);
    };
    calls.pread = [&](int file, void* data, std::size_t bytes, off_t at) -> ssize_t {
      return random() % 3 == 0 ? (errno = EINTR, -1) : ::pread(file, data, part(bytes), at);
    };
    SpillStore store(directory.path(), {.direct = direct, .calls = calls});
    for (std::size_t bytes : {std::size_t{5000}, MiB(1) + 77}) {
      const Block data(bytes), back(bytes, 0, 2);
      store.write(1, data.bytes());
      store.read(1, back.bytes());
      EXPECT_EQ(back, data);
      store.forget(1);
    }
  }
}

TEST(SpillFaults, AFileThatEndsTooEarlyIsAnError) {
  const TemporaryFolder directory;
  bool short_of_it = true;
  FileCalls calls;
  calls.pread = [&](int file, void* data, std::size_t bytes, off_t at) -> ssize_t {
    if (short_of_it && at >= 8192) return 0;
    return ::pread(file, data, short_of_it ? std::min<std::size_t>(bytes, 8192 - static_cast<std::size_t>(at)) : bytes, at);
  };
  SpillStore store(directory.path(), {.calls = calls});
  const Block data(KiB(64)), back(KiB(64), 0, 2);
  store.write(1, data.bytes());
  EXPECT_THAT(error_message([&] { store.read(1, back.bytes()); }),
              AllOf(HasSubstr("56.0 KiB too early"), HasSubstr(directory.path().string())));
  short_of_it = false;
  store.read(1, back.bytes());
  EXPECT_EQ(back, data);
}

TEST(SpillFaults, AnErrorOfTheDiskIsPassedOn) {
  const TemporaryFolder directory;
  FileCalls calls;
  calls.pread = [](int, void*, std::size_t, off_t) -> ssize_t { return errno = EIO, -1; };
  SpillStore store(directory.path(), {.calls = calls});
  const Block data(100);
  store.write(1, data.bytes());
  EXPECT_THAT(error_message([&] { store.read(1, data.bytes()); }), HasSubstr("Input/output error"));
}

// One bit, anywhere: in what goes straight to its place, and in what passes through staging.
TEST(SpillFaults, AFlippedBitIsNoticed) {
  for (std::size_t bytes : {std::size_t{64}, KiB(64), MiB(1) + 5}) {
    for (std::size_t flipped : {std::size_t{0}, bytes / 2, bytes - 1}) {
      const TemporaryFolder directory;
      bool flip = true;
      FileCalls calls;
      calls.pread = [&](int file, void* data, std::size_t count, off_t at) -> ssize_t {
        const ssize_t got = ::pread(file, data, count, at);
        const auto place = static_cast<off_t>(flipped);
        if (flip && place >= at && place < at + got) static_cast<unsigned char*>(data)[place - at] ^= 16;
        return got;
      };
      SpillStore store(directory.path(), {.calls = calls});
      const Block data(bytes), back(bytes, 0, 2);
      store.write(1, data.bytes());
      EXPECT_THAT(error_message([&] { store.read(1, back.bytes()); }), HasSubstr("not what was written"));
      flip = false;
      store.read(1, back.bytes());
      EXPECT_EQ(back, data);
    }
  }
}

TEST(SpillFaults, WhereDirectIoIsRefusedOnlyByTheCallTheCacheIsUsed) {
  const TemporaryFolder directory;
  FileCalls calls;
  calls.pwrite = [](int file, const void* data, std::size_t bytes, off_t at) -> ssize_t {
    if ((::fcntl(file, F_GETFL) & O_DIRECT) != 0) return errno = EINVAL, -1;
    return ::pwrite(file, data, bytes, at);
  };
  SpillStore store(directory.path(), {.calls = calls});
  const Block data(KiB(64)), back(KiB(64), 0, 2);
  store.write(1, data.bytes());
  EXPECT_FALSE(store.direct());
  store.read(1, back.bytes());
  EXPECT_EQ(back, data);
}

}  // namespace
}  // namespace regrow::memory
