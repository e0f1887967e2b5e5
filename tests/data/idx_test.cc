// SPDX-License-Identifier: Apache-2.0
#include "regrow/data/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/idx_file.h"
#include "tests/error_message.h"

namespace regrow::data {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

class Idx : public testing::Test {
 protected:
  std::string error(const std::string& bytes) {
    return error_message([&] { read_idx(folder_.write("a", bytes)); });
  }
  TemporaryFolder folder_;
};

TEST_F(Idx, PlainAndGzippedFilesGiveTheSameArray) {
  const std::string bytes = idx(0x08, {2, 3}, "abcdef");
  for (const std::string& file : {bytes, gzipped(bytes)}) {
    const HostArray array = read_idx(folder_.write("a", file));
    EXPECT_EQ(array.shape(), (Shape{2, 3}));
    EXPECT_EQ(array.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'}));
  }
}

TEST_F(Idx, WideElementsAreTurnedFromBigEndian) {
  const HostArray shorts = read_idx(folder_.write("a", idx(0x0b, {2}, std::string("\x01\x02\xff\xfe", 4))));
  EXPECT_EQ(shorts.to_vector<std::int16_t>(), (std::vector<std::int16_t>{0x0102, -2}));
  const HostArray floats = read_idx(folder_.write("b", idx(0x0d, {1}, std::string("\x3f\xc0\x00\x00", 4))));
  EXPECT_EQ(floats.to_vector<float>(), (std::vector<float>{1.5f}));
  const HostArray doubles = read_idx(folder_.write("c", idx(0x0e, {1}, std::string("\xc0\x04\0\0\0\0\0\0", 8))));
  EXPECT_EQ(doubles.to_vector<double>(), (std::vector<double>{-2.5}));
}

TEST_F(Idx, NoItemsIsAnOrdinaryArray) {
  const HostArray array = read_idx(folder_.write("a", idx(0x08, {0, 28, 28}, "")));
  EXPECT_EQ(array.shape(), (Shape{0, 28, 28}));
  // However large the other sizes: there is nothing to read.
  EXPECT_EQ(read_idx(folder_.write("b", idx(0x08, {0xffffffff, 0, 0xffffffff}, ""))).count(), 0);
}

TEST_F(Idx, AFileCutAnywhereIsTruncated) {
  const std::string bytes = idx(0x08, {2, 3}, "abcdef");
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THAT(error(bytes.substr(0, length)), length < 4 ? HasSubstr("shorter than its header") : HasSubstr("truncated"))
        << length;
  }
  EXPECT_THAT(error(bytes.substr(0, 15)), EndsWith("/a: truncated: 3 of 6 bytes of elements"));
  EXPECT_THAT(error(bytes.substr(0, 9)), EndsWith("/a: truncated: the header ends after 1 of 2 sizes"));
}

TEST_F(Idx, AGzippedFileCutAnywhereIsRefused) {
  const std::string bytes = gzipped(idx(0x08, {2, 3}, "abcdef"));
  for (std::size_t length = 0; length < bytes.size(); ++length) EXPECT_NE(error(bytes.substr(0, length)), "") << length;
  EXPECT_THAT(error(bytes.substr(0, bytes.size() - 1)), EndsWith("truncated: the gzip data ends too early"));
}

TEST_F(Idx, ADamagedGzipFileFailsItsChecksum) {
  std::string bytes = gzipped(idx(0x08, {2, 3}, "abcdef"));
  bytes[bytes.size() - 8] ^= 1;  // the last eight bytes are CRC and length
  EXPECT_THAT(error(bytes), HasSubstr("damaged gzip data: "));
  bytes[bytes.size() - 8] ^= 1;
  EXPECT_EQ(error(bytes), "");
}

TEST_F(Idx, TrailingBytesAreRefused) {
  const std::string bytes = idx(0x08, {2, 3}, "abcdefg");
  EXPECT_THAT(error(bytes), EndsWith("longer than its header says: more than 6 bytes of elements"));
  EXPECT_THAT(error(gzipped(bytes)), EndsWith("longer than its header says: more than 6 bytes of elements"));
  EXPECT_THAT(error(idx(0x08, {0}, "x")), HasSubstr("longer than its header says"));
}

TEST_F(Idx, OtherFormatsAreRecognised) {
  EXPECT_THAT(error("P5 28 28 255 ..."), HasSubstr("not an IDX file: magic number 0x50352032"));
  EXPECT_THAT(error(idx(0x42, {1}, "a")), HasSubstr("not an IDX file: element type 0x42"));
  EXPECT_THAT(error(idx(0x08, {}, "")), HasSubstr("0 axes"));
  EXPECT_THAT(error(idx(0x08, std::vector<std::uint32_t>(9, 1), "a")), HasSubstr("9 axes"));
}

TEST_F(Idx, SizesThatTheFileCannotHoldAllocateNothing) {
  EXPECT_THAT(error(idx(0x0e, {0xffffffff, 0xffffffff, 0xffffffff}, "a")), HasSubstr("truncated: too short for its shape"));
  EXPECT_THAT(error(gzipped(idx(0x08, {0x40000000}, "a"))), HasSubstr("truncated: too short for its shape"));
}

TEST_F(Idx, MissingFilesAndFoldersSayWhy) {
  EXPECT_THAT(error_message([&] { read_idx(folder_.path() / "none"); }), EndsWith("none: No such file or directory"));
  EXPECT_THAT(error_message([&] { read_idx(folder_.path()); }), HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace regrow::data
