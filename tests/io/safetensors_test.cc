// SPDX-License-Identifier: Apache-2.0
// safetensors: bytes as the specification has them, every type there and back, and files that must be refused.
#include "regrow/io/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"
#include "tests/io/allocations.h"
#include "tests/io/file_contents.h"

namespace regrow::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string safetensors(const std::string& header, const std::string& data = "") {
  return as_bytes(header.size()) + header + data;
}
std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return '"' + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}
const std::string two_floats = as_bytes(0x3f800000, 4) + as_bytes(0xc0000000, 4);  // 1, -2

TEST(Safetensors, ReadsWhatTheSpecificationDescribes) {
  const TemporaryFolder folder;
  const auto path = folder.write(
      "x",
      safetensors(R"({"__metadata__":{"format":"pt","odd":"\u00e9\n"},"b":{"shape":[],"data_offsets":[8,10],"dtype":"I16"},)" +
                      entry("a", "F32", "[2]", "[0,8]") + "," + entry("none", "F64", "[3,0]", "[10,10]") + "}   ",
                  two_floats + as_bytes(0xfffe, 2)));
  const SafetensorsReader reader(path);
  ASSERT_EQ(reader.entries().size(), 3u);
  EXPECT_EQ(reader.entries()[0].name, "a");
  EXPECT_THAT(reader.read(*reader.find("a")).to_vector<float>(), ElementsAre(1, -2));
  EXPECT_EQ(reader.read(*reader.find("b")).item<std::int16_t>(), -2);
  EXPECT_EQ(reader.read(*reader.find("none")).shape(), (Shape{3, 0}));
  EXPECT_EQ(reader.find("c"), nullptr);
  EXPECT_THAT(reader.metadata(), ElementsAre(std::pair("format", "pt"), std::pair("odd", "é\n")));
}

TEST(Safetensors, WritesWhatTheSpecificationDescribes) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x";
  save_safetensors(path, {{"a", tensor({1.f, -2.f})}, {"b", tensor(-2, {.dtype = DType::i16})}}, {{"k", "v"}});
  const std::string header =
      R"({"__metadata__":{"k":"v"},)" + entry("a", "F32", "[2]", "[0,8]") + "," + entry("b", "I16", "[]", "[8,10]") + "}";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(contents(path), safetensors(padded, two_floats + as_bytes(0xfffe, 2)));
  EXPECT_EQ(folder.files(), 1u);
}

TEST(Safetensors, EveryTypeAndLayoutComesBack) {
  const TemporaryFolder folder;
  NamedTensors tensors;
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    const Tensor x = tensor({{0.0, 1.0, 3.0}, {2.0, 100.0, 0.0}}).astype(dtype);
    tensors.emplace_back(to_string(dtype), x);
    tensors.emplace_back(to_string(dtype) + " transposed", transpose(x));
    tensors.emplace_back(to_string(dtype) + " scalar", x[{0, 1}]);
    tensors.emplace_back(to_string(dtype) + " empty", x[{slice(0, 0)}]);
  }
  save_safetensors(folder.path() / "x", tensors);
  const NamedTensors loaded = load_safetensors(folder.path() / "x");
  ASSERT_EQ(loaded.size(), tensors.size());
  for (const auto& [name, value] : tensors) {
    const std::string& wanted = name;
    const auto found = std::find_if(loaded.begin(), loaded.end(), [&](const auto& entry) { return entry.first == wanted; });
    ASSERT_NE(found, loaded.end()) << name;
    EXPECT_EQ(found->second.dtype(), value.dtype()) << name;
    const HostArray there = value.host(), back = found->second.host();
    ASSERT_EQ(back.shape(), there.shape()) << name;
    EXPECT_EQ(std::memcmp(back.data(), there.data(), there.bytes()), 0) << name;
  }
}

TEST(Safetensors, WiderElementsComeFirstSoThatAllAreAligned) {
  const TemporaryFolder folder;
  save_safetensors(folder.path() / "x",
                   {{"narrow", tensor(1, {.dtype = DType::i8})}, {"wide", tensor(2.0)}, {"middle", tensor(3.f)}});
  const SafetensorsReader reader(folder.path() / "x");
  for (const ArrayEntry& array : reader.entries()) EXPECT_EQ(array.begin % size_of(array.dtype), 0u);
  EXPECT_EQ(reader.entries()[0].name, "wide");
}

// B057: a slice of a large tensor takes the room of a slice. B205: parts of one buffer are both right.
TEST(Safetensors, SlicesAreWrittenWithoutTheirBase) {
  const TemporaryFolder folder;
  const Tensor base = arange(100000.f);
  save_safetensors(folder.path() / "x", {{"head", base[slice(0, 10)]}, {"odd", base[slice(1, 20, 2)]}});
  EXPECT_LT(std::filesystem::file_size(folder.path() / "x"), 400u);
  const SafetensorsReader reader(folder.path() / "x");
  EXPECT_THAT(reader.read(*reader.find("odd")).to_vector<float>(), ElementsAre(1, 3, 5, 7, 9, 11, 13, 15, 17, 19));
}

struct Refused {
  const char* what;
  std::string file;
  std::string message;
};

std::vector<Refused> hostile_files() {
  const std::string a = entry("a", "F32", "[2]", "[0,8]");
  return {
      {"nothing", "", "too short for a safetensors file: 0 bytes"},
      {"half a length", "\1\0\0", "too short for a safetensors file: "},
      // B188
      {"length 2^64-1", as_bytes(~0ull) + "{}",
       "the header's length is 18446744073709551615 bytes: at most 100000000 are allowed"},
      {"length beyond the limit", as_bytes(100'000'001) + "{}", "the header's length is 100000001 bytes"},
      {"length beyond the file", as_bytes(99'999'999) + "{}", "truncated: the header is 99999999 bytes long, the file 10"},
      {"no header", as_bytes(0), "the header does not begin with '{'"},
      {"padding before", safetensors(" {}"), "the header does not begin with '{'"},
      {"a name twice", safetensors("{" + a + "," + entry("a", "F32", "[1]", "[8,12]") + "}", std::string(12, 0)),
       "the name \"a\" occurs twice"},
      {"overlap", safetensors("{" + a + "," + entry("b", "F32", "[2]", "[4,12]") + "}", std::string(12, 0)),
       "array \"b\" overlaps with another"},
      {"gap", safetensors("{" + a + "," + entry("b", "F32", "[2]", "[12,20]") + "}", std::string(20, 0)),
       "there is a gap of 4 bytes before array \"b\""},
      {"gap at the beginning", safetensors("{" + entry("a", "F32", "[2]", "[8,16]") + "}", std::string(16, 0)),
       "there is a gap of 8 bytes before array \"a\""},
      {"another size", safetensors("{" + entry("a", "F32", "[3]", "[0,8]") + "}", two_floats),
       "array \"a\" has 8 bytes, but f32(3,) takes 12"},
      // B190: the type is looked at, and its offsets too
      {"unknown type", safetensors("{" + entry("a", "X9", "[2]", "[0,18446744073709551615]") + "}", two_floats),
       "array \"a\" has the element type \"X9\", which is not supported"},
      // B191
      {"negative offset", safetensors("{" + entry("a", "F32", "[4]", "[-16,0]") + "}", two_floats),
       "array \"a\" has a negative number in its data_offsets: -16"},
      {"far offset", safetensors("{" + entry("a", "F32", "[4]", "[1099511627776,1099511627792]") + "}", two_floats),
       "array \"a\" lies at [1099511627776, 1099511627792) of 8 bytes of data"},
      {"backward offsets", safetensors("{" + entry("a", "F32", "[2]", "[8,0]") + "}", two_floats),
       "array \"a\" lies at [8, 0) of 8 bytes of data"},
      {"offset beyond 64 bits", safetensors("{" + entry("a", "F32", "[2]", "[0,36893488147419103232]") + "}", two_floats),
       "array \"a\" has in its data_offsets a number that is no 64-bit integer"},
      {"fractional offset", safetensors("{" + entry("a", "F32", "[2]", "[0,8.0]") + "}", two_floats),
       "array \"a\" has in its data_offsets a number that is no 64-bit integer: \"8.0\""},
      {"three offsets", safetensors("{" + entry("a", "F32", "[2]", "[0,8,8]") + "}", two_floats),
       "array \"a\" has 3 data_offsets, not 2"},
      // B193
      {"bytes at the end", safetensors("{" + a + "}", two_floats + std::string(16, 0)), "16 bytes follow after the last array"},
      {"truncated data", safetensors("{" + a + "}", two_floats.substr(0, 7)), "array \"a\" lies at [0, 8) of 7 bytes of data"},
      // B198
      {"size that wraps", safetensors("{" + entry("a", "F32", "[4611686018427387905]", "[0,4]") + "}", std::string(4, 0)),
       "array \"a\" has the shape (4611686018427387905,): too large"},
      {"sizes that wrap to nothing", safetensors("{" + entry("a", "F32", "[4294967296,4294967296,0]", "[0,0]") + "}"),
       "array \"a\" has the shape (4294967296, 4294967296, 0): too large"},
      {"size beyond 63 bits", safetensors("{" + entry("a", "F32", "[9223372036854775808]", "[0,0]") + "}"),
       "array \"a\" is 9223372036854775808 long: too large"},
      {"negative size", safetensors("{" + entry("a", "F32", "[-2]", "[0,8]") + "}", two_floats),
       "array \"a\" has a negative number in its shape: -2"},
      {"nine axes", safetensors("{" + entry("a", "I8", "[1,1,1,1,1,1,1,1,1]", "[0,1]") + "}", "x"),
       "array \"a\" has more than 8 axes"},
      // B204
      {"unknown property", safetensors(R"({"a":{"dtype":"F32","path":"/etc/passwd"}})"),
       "array \"a\" has an unknown property \"path\""},
      {"property twice", safetensors(R"({"a":{"dtype":"F32","dtype":"F64"}})"), "array \"a\" has the property \"dtype\" twice"},
      {"no offsets", safetensors(R"({"a":{"dtype":"F32","shape":[2]}})"), "array \"a\" lacks its data_offsets"},
      {"shape is no list", safetensors(R"({"a":{"dtype":"F32","shape":2}})"), "array \"a\" has a number as its shape"},
      {"list in a shape", safetensors(R"({"a":{"shape":[[2]]}})"), "array \"a\" has a list as its shape"},
      {"an array that is a number", safetensors(R"({"a":1})"), "\"a\" is a number, not an object"},
      {"metadata that is no string", safetensors(R"({"__metadata__":{"k":1}})"), "the metadata \"k\" is a number, not a string"},
      {"metadata twice", safetensors(R"({"__metadata__":{"k":"1"},"__metadata__":{"l":"1"}})"),
       "the header has \"__metadata__\" twice"},
      {"metadata key twice", safetensors(R"({"__metadata__":{"k":"1","k":"2"}})"), "the header has the metadata \"k\" twice"},
      {"not JSON", safetensors("{\"a\":"), "the header is not valid JSON at byte"},
      {"bytes that are no UTF-8", safetensors("{\"\xff\":{}}"), "the header is not valid JSON at byte"},
      {"two headers", safetensors("{}{}"), "the header is not valid JSON at byte"},
      {"a deep nest", safetensors("{\"a\":" + std::string(1'000'000, '[')), "\"a\" is a list, not an object"},
  };
}

TEST(HostileSafetensors, AreRefusedWithWordsOfTheirOwnAndLittleMemory) {
  const TemporaryFolder folder;
  for (const Refused& refused : hostile_files()) {
    const auto path = folder.write("x", refused.file);
    const std::size_t before = allocated_bytes;
    const std::string message = error_message([&] { SafetensorsReader reader(path); });
    EXPECT_LT(allocated_bytes - before, std::size_t{1} << 20) << refused.what;
    EXPECT_THAT(message, StartsWith(path.string() + ": " + refused.message)) << refused.what;
    EXPECT_LT(message.size(), 400u) << refused.what;
  }
}

// A gigantic name is not repeated in full, nor can control characters reach a terminal.
TEST(HostileSafetensors, NamesInMessagesAreShortAndHarmless) {
  const TemporaryFolder folder;
  const auto path = folder.write("x", safetensors(R"({")" + std::string(1000, 'n') + R"(\u001b[2J":1})"));
  EXPECT_LT(error_message([&] { SafetensorsReader reader(path); }).size(), 250u);
  const auto other = folder.write("y", safetensors(R"({"\u001b[2J":1})"));
  EXPECT_THAT(error_message([&] { SafetensorsReader reader(other); }), HasSubstr(R"("\u001b[2J" is a number)"));
}

// B200: a valid file, cut anywhere, is an error; so is one with any byte of its header turned over, or it reads as another file.
TEST(HostileSafetensors, CutAnywhereOrDamagedAnywhere) {
  const TemporaryFolder folder;
  const std::string whole =
      safetensors("{" + entry("a", "F32", "[2]", "[0,8]") + "," + entry("b", "I8", "[3]", "[8,11]") + "}", two_floats + "xyz");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto path = folder.write("x", whole.substr(0, size));
    EXPECT_THROW(SafetensorsReader reader(path), Error) << size;
  }
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const int bit : {0, 1, 5, 7}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      try {
        const SafetensorsReader reader(folder.write("x", damaged));
        for (const ArrayEntry& array : reader.entries()) reader.read(array);
      } catch (const Error&) {
      }
    }
}

TEST(HostileSafetensors, WhatIsNoFileIsSaidToBeNone) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_message([&] { SafetensorsReader reader(folder.path() / "missing"); }), HasSubstr("No such file"));
  EXPECT_THAT(error_message([&] { SafetensorsReader reader(folder.path()); }), HasSubstr("not a regular file"));
  EXPECT_THAT(error_message([&] { SafetensorsReader reader("/dev/zero"); }), HasSubstr("not a regular file"));
}

// B192: the writer keeps the reader's limits.
TEST(SafetensorsWriter, RefusesWhatNoReaderAccepts) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x";
  const Tensor one = ones({1});
  EXPECT_THAT(error_message([&] {
                save_safetensors(path, {{"a", one}}, {{"k", std::string(100'000'001, 'v')}});
              }),
              HasSubstr("header of more than 100000000 bytes"));
  EXPECT_THAT(error_message([&] { save_safetensors(path, {{"a", one}, {"a", one}}); }), HasSubstr("\"a\" occurs twice"));
  EXPECT_THAT(error_message([&] { save_safetensors(path, {{"__metadata__", one}}); }), HasSubstr("cannot be named"));
  EXPECT_THAT(error_message([&] { save_safetensors(path, {{"\xff", one}}); }), HasSubstr("not valid UTF-8"));
  EXPECT_EQ(folder.files(), 0u);
}

// A name cannot leave the file: it is a string like any other.
TEST(SafetensorsWriter, NamesAreNotPaths) {
  const TemporaryFolder folder;
  save_safetensors(folder.path() / "x", {{"../../etc/\"q\"\n", ones({1})}, {"", ones({2})}});
  EXPECT_EQ(folder.files(), 1u);
  EXPECT_NE(SafetensorsReader(folder.path() / "x").find("../../etc/\"q\"\n"), nullptr);
}

TEST(SafetensorsWriter, AFailureLeavesTheOldFile) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x";
  save_safetensors(path, {{"a", tensor({1.f})}});
  const std::string before = contents(path);
  EXPECT_THROW(write_safetensors(path, {{"a", DType::f32, {1}}, {"b", DType::f32, {1}}},
                                 [](std::size_t i) {
                                   if (i == 1) fail("no second one");
                                   return HostArray::scalar(1, DType::f32);
                                 }),
               Error);
  EXPECT_THROW(write_safetensors(path, {{"a", DType::f32, {2}}}, [](std::size_t) { return HostArray::scalar(1, DType::f32); }),
               Error);
  EXPECT_EQ(contents(path), before);
  EXPECT_EQ(folder.files(), 1u);
  EXPECT_THAT(error_message([&] { save_safetensors(folder.path() / "no" / "x", {}); }),
              HasSubstr("cannot be written: No such file"));
  save_safetensors(path, {{"a", tensor({2.f})}});
  EXPECT_THAT(load_safetensors(path).at(0).second.to_vector<float>(), ElementsAre(2));
}

}  // namespace
}  // namespace regrow::io
