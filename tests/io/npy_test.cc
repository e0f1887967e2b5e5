// SPDX-License-Identifier: Apache-2.0
// npy: files as NumPy 1.24 writes them, and files that must be refused.
#include "regrow/io/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/io/allocations.h"
#include "tests/io/file_contents.h"

namespace regrow::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string npy(const std::string& header, const std::string& data, int version = 1) {
  return "\x93NUMPY" + as_bytes(static_cast<std::uint64_t>(version), 2) + as_bytes(header.size(), version == 1 ? 2 : 4) + header +
         data;
}
std::string dictionary(const std::string& type, const std::string& order, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}
std::string shorts(std::initializer_list<int> values) {
  std::string bytes;
  for (int value : values) bytes += as_bytes(static_cast<std::uint64_t>(value), 2);
  return bytes;
}

// B196: numpy.save of an array and of its transpose, of no axes, of none at all.
TEST(Npy, ReadsBothOrders) {
  const TemporaryFolder folder;
  const auto rows = folder.write("r", npy(dictionary("<i2", "False", "(2, 3)"), shorts({1, 2, 3, 4, 5, 6})));
  EXPECT_THAT(read_npy(rows).to_vector<std::int16_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  const auto columns = folder.write("c", npy(dictionary("<i2", "True", "(3, 2)"), shorts({1, 2, 3, 4, 5, 6})));
  EXPECT_THAT(read_npy(columns).to_vector<std::int16_t>(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_EQ(read_npy(folder.write("s", npy(dictionary("<i2", "False", "()"), shorts({7})))).item<std::int16_t>(), 7);
  EXPECT_EQ(read_npy(folder.write("o", npy(dictionary("<i2", "True", "(1,)"), shorts({7})))).shape(), (Shape{1}));
  EXPECT_EQ(read_npy(folder.write("e", npy(dictionary("<f8", "True", "(0, 3)"), ""))).shape(), (Shape{0, 3}));
}

// B197: the byte order counts.
TEST(Npy, ReadsBothByteOrders) {
  const TemporaryFolder folder;
  const auto big = folder.write("b", npy(dictionary(">i2", "False", "(2,)"), std::string("\x01\x02\xff\xfe", 4), 2));
  EXPECT_THAT(read_npy(big).to_vector<std::int16_t>(), ElementsAre(0x102, -2));
  const auto truth = folder.write("t", npy(dictionary("|b1", "False", "(2,)"), std::string("\1\0", 2), 3));
  EXPECT_THAT(read_npy(truth).to_vector<bool>(), ElementsAre(true, false));
  const auto complex = folder.write("c", npy(dictionary("<c8", "False", "(1,)"), std::string(8, 0)));
  EXPECT_THAT(error_message([&] { read_npy(complex); }), HasSubstr("the element type '<c8' is not supported"));
}

// B195: what numpy.save writes, byte for byte.
TEST(Npy, WritesAsNumpyDoes) {
  const TemporaryFolder folder;
  write_npy(folder.path() / "x", HostArray::from(std::vector<std::int16_t>{1, 2, 3, 4, 5, 6}, {2, 3}));
  std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }";
  header += std::string(128 - 10 - 1 - header.size(), ' ') + "\n";
  EXPECT_EQ(contents(folder.path() / "x"), npy(header, shorts({1, 2, 3, 4, 5, 6})));
  write_npy(folder.path() / "y", HostArray::from(std::vector<bool>{true}, {1}));
  EXPECT_THAT(read_npy(folder.path() / "y").to_vector<bool>(), ElementsAre(true));
  EXPECT_THAT(error_message([&] { write_npy(folder.path() / "z", HostArray::scalar(1, DType::bf16)); }), HasSubstr("bf16"));
}

// B194, B198: what a header claims takes no memory.
TEST(HostileNpy, AreRefusedWithLittleMemory) {
  const TemporaryFolder folder;
  const std::pair<std::string, const char*> files[] = {
      {"", "not an npy file"},
      {"\x93NUMPX\1\0", "not an npy file"},
      {"\x93NUMPY" + as_bytes(2, 2) + as_bytes(0xffffffff, 4), "truncated: the header is 4294967295 bytes long, the file 12"},
      {"\x93NUMPY" + as_bytes(9, 2) + as_bytes(0, 2), "version 9"},
      {npy(dictionary("<f4", "False", "(4611686018427387905,)"), std::string(4, 0)), "is too large"},
      {npy(dictionary("<f4", "False", "(1000000000,)"), std::string(4, 0)), "takes 4000000000 bytes, the file has 4"},
      {npy(dictionary("<f4", "False", "(-1,)"), std::string(4, 0)), "no size that fits"},
      {npy(dictionary("<f4", "False", "(1,)"), std::string(5, 0)), "takes 4 bytes, the file has 5"},
      {npy(dictionary("<f4", "Perhaps", "(1,)"), std::string(4, 0)), "no truth value"},
      {npy(dictionary("<f4", "False", "(1,1,1,1,1,1,1,1,1)"), std::string(4, 0)), "more than 8 axes"},
      {npy("{'descr': '<f4', 'descr': '<f4'}", ""), "names 'descr' twice"},
      {npy("{'descr': '<f4'}", ""), "lacks 'fortran_order'"},
      {npy("{'descr': [('a', '<f4')]}", ""), "records"},
      {npy("{'descr", ""), "without end"},
      {npy(dictionary("<f4", "False", "()") + "x", std::string(4, 0)), "goes on after its end"},
  };
  for (const auto& [bytes, message] : files) {
    const auto path = folder.write("x", bytes);
    const std::size_t before = allocated_bytes;
    EXPECT_THAT(error_message([&] { read_npy(path); }), HasSubstr(message));
    EXPECT_LT(allocated_bytes - before, 100'000u) << message;
  }
}

TEST(HostileNpy, CutAnywhere) {
  const TemporaryFolder folder;
  const std::string whole = npy(dictionary("<i2", "False", "(2,)"), shorts({1, 2}));
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(read_npy(folder.write("x", whole.substr(0, size))), Error) << size;
}

}  // namespace
}  // namespace regrow::io
