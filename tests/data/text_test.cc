// SPDX-License-Identifier: Apache-2.0
#include "regrow/data/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "regrow/base/error.h"
#include "tests/data/idx_file.h"
#include "tests/error_message.h"

namespace regrow::data {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

TEST(Utf8, CharactersOfEveryLengthThereAndBack) {
  const std::string bytes = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x8c\xb1";  // RFC 3629: a, é, €, and a seedling
  EXPECT_EQ(decode_utf8(bytes, "x"), (std::u32string{0x61, 0xe9, 0x20ac, 0x1f331}));
  EXPECT_EQ(encode_utf8(decode_utf8(bytes, "x")), bytes);
  const std::u32string borders = {0x7f, 0x80, 0x7ff, 0x800, 0xffff, 0x10000, 0x10ffff};
  EXPECT_EQ(decode_utf8(encode_utf8(borders), "x"), borders);
}

TEST(Utf8, WhatIsNotUtf8IsRefusedWithItsPlace) {
  const std::vector<std::string> wrong = {"\x80",
                                          "\xc0\x80",
                                          "\xc3",
                                          "\xc3(",
                                          "\xe0\x80\x80",
                                          "\xed\xa0\x80",
                                          "\xe2\x82",
                                          "\xf0\x80\x80\x80",
                                          "\xf4\x90\x80\x80",
                                          "\xf8\x88\x80\x80\x80",
                                          "\xff"};
  for (const std::string& bytes : wrong)
    EXPECT_EQ(error_message([&] { decode_utf8("ab" + bytes, "the text"); }), "the text: not UTF-8 at byte 2");
}

TEST(Text, AFileIsPlainOrGzipped) {
  const TemporaryFolder folder;
  std::string bytes;
  for (std::int64_t i = 0; i < 300000; ++i) bytes += static_cast<char>('a' + i * i % 26);
  bytes += "\xc3\xa9";
  const std::u32string text = read_text(folder.write("plain", bytes));
  EXPECT_EQ(text.size(), 300001u);
  EXPECT_EQ(encode_utf8(text), bytes);
  EXPECT_EQ(read_text(folder.write("packed.dz", gzipped(bytes))), text);
  EXPECT_TRUE(read_text(folder.write("empty", "")).empty());
  EXPECT_THAT(error_message([&] { read_text(folder.path() / "none"); }), EndsWith("none: No such file or directory"));
  EXPECT_THAT(error_message([&] { read_text(folder.write("cut", gzipped(bytes).substr(0, 50))); }), HasSubstr("truncated"));
}

TEST(Text, TheVocabularyIsTheCharactersInOrder) {
  const Vocabulary vocabulary(U"hello, \u20acworld");
  EXPECT_EQ(vocabulary.characters(), U" ,dehlorw\u20ac");
  EXPECT_EQ(vocabulary.encode(U"hole"), (std::vector<std::int64_t>{4, 6, 5, 3}));
  EXPECT_EQ(vocabulary[9], U'\u20ac');
  EXPECT_EQ(error_message([&] { vocabulary.encode(U"h\u00e9"); }),
            "the character '\xc3\xa9' (U+00E9) is not one of the 10 known ones");
}

// Character i of the text is i: an index says where it was.
std::u32string counting(std::int64_t count) {
  std::u32string text;
  for (std::int64_t i = 0; i < count; ++i) text.push_back(static_cast<char32_t>(i));
  return text;
}
TextLoader loader_of(std::int64_t count, TextOptions options) {
  const std::u32string text = counting(count);
  return TextLoader(text, Vocabulary(text), options);
}

TEST(TextLoader, AnEpochReadsTheLearnedPartInWindows) {
  TextLoader loader = loader_of(1000, {.batch = 4, .length = 10, .seed = 3});
  EXPECT_EQ(loader.batches(), 22);  // of 900 characters: (899 / 10 - 1) / 4
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < loader.batches(); ++i) {
    const TextBatch batch = loader.batch(0, i);
    ASSERT_EQ(batch.inputs.shape(), (Shape{4, 10}));
    const auto inputs = batch.inputs.to_vector<std::int64_t>(), targets = batch.targets.to_vector<std::int64_t>();
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      EXPECT_EQ(targets[k], inputs[k] + 1);
      EXPECT_EQ(inputs[k], k % 10 > 0 ? inputs[k - 1] + 1 : inputs[k]);
      EXPECT_TRUE(seen.insert(inputs[k]).second);
      EXPECT_LT(targets[k], 900);
    }
  }
  EXPECT_EQ(seen.size(), 22u * 40);
}

TEST(TextLoader, ABatchIsAFunctionOfSeedEpochAndIndex) {
  const TextOptions options{.batch = 4, .length = 10, .seed = 3};
  TextLoader straight = loader_of(1000, options), jumping = loader_of(1000, options);
  std::vector<std::vector<std::int64_t>> all;
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    for (std::int64_t i = 0; i < 22; ++i) all.push_back(straight.batch(epoch, i).inputs.to_vector<std::int64_t>());
  }
  EXPECT_EQ(jumping.batch(2, 5).inputs.to_vector<std::int64_t>(), all[2 * 22 + 5]);
  EXPECT_EQ(jumping.batch(0, 21).inputs.to_vector<std::int64_t>(), all[21]);
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), all.size());
  TextLoader other = loader_of(1000, {.batch = 4, .length = 10, .seed = 4});
  EXPECT_NE(other.batch(0, 0).inputs.to_vector<std::int64_t>(), all[0]);
}

TEST(TextLoader, TheEndOfTheTextIsHeldOut) {
  TextLoader loader = loader_of(1000, {.batch = 4, .length = 10});
  EXPECT_EQ(loader.held_out_batches(), 3);  // of 100 characters: 9 windows and the next character of the last
  EXPECT_EQ(loader.held_out_batch(0).inputs.to_vector<std::int64_t>().front(), 900);
  const TextBatch last = loader.held_out_batch(2);
  EXPECT_EQ(last.inputs.shape(), (Shape{1, 10}));
  EXPECT_EQ(last.targets.to_vector<std::int64_t>().back(), 990);
}

TEST(TextLoader, WhatMakesNoBatchIsRefused) {
  EXPECT_EQ(error_message([] { loader_of(100, {.batch = 0, .length = 10}); }), "a batch of 0 x 10 characters is empty");
  EXPECT_THAT(error_message([] { loader_of(110, {.batch = 9, .length = 10}); }), HasSubstr("110 characters is too short"));
  EXPECT_THAT(error_message([] { loader_of(0, {.batch = 1, .length = 1}); }), HasSubstr("0 characters is too short"));
  EXPECT_EQ(error_message([] { loader_of(110, {.batch = 8, .length = 10}); }), "");
  TextLoader loader = loader_of(110, {.batch = 8, .length = 10});
  EXPECT_EQ(error_message([&] { loader.batch(0, 1); }), "batch 1 is not one of the 1 in an epoch");
}

TEST(TextLoader, DebiansDictionaryIsText) {
  if (!std::filesystem::exists("/usr/share/dictd/devil.dict.dz")) GTEST_SKIP() << "dict-devil is not installed";
  const std::u32string text = read_text(find_devils_dictionary());
  EXPECT_EQ(text.size(), 383656u);  // counted by Python
  EXPECT_EQ(Vocabulary(text).size(), 85);
}

}  // namespace
}  // namespace regrow::data
