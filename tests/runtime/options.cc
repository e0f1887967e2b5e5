// SPDX-License-Identifier: Apache-2.0
// Options are checked wherever they come from.
#include "regrow/runtime/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/runtime/gate.h"

namespace regrow {
namespace {

using testing::HasSubstr;

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Options, AreSetAndReadBackByName) {
  Channel channel(Options{});
  for (const OptionSpec& spec : option_specs()) {
    const std::size_t before = channel.get_option(spec.name);
    EXPECT_EQ(before, Options{}.*spec.member) << spec.name;
    for (std::size_t value : {spec.least, spec.least + 1}) {
      channel.set_option(spec.name, value);
      EXPECT_EQ(channel.get_option(spec.name), value) << spec.name;
    }
    channel.set_option(spec.name, before);
  }
}

TEST(Options, AnUnknownNameOrAValueOutOfRangeIsAnErrorAndChangesNothing) {
  Channel channel(Options{});
  EXPECT_THAT(message_of([&] { channel.set_option("no_such_option", 1); }), HasSubstr("no_such_option"));
  EXPECT_THAT(message_of([&] { channel.get_option("no_such_option"); }), HasSubstr("no_such_option"));
  const std::string text = message_of([&] { channel.set_option("async_level", 3); });
  EXPECT_THAT(text, HasSubstr("async_level is 3, but must be between 0 and 2"));
  EXPECT_THAT(text, HasSubstr("options.cc"));
  EXPECT_EQ(channel.get_option("async_level"), 2u);
  EXPECT_THROW(channel.set_option("queue_commands", 0), Error);
  EXPECT_THROW(Channel(Options{.async_level = 7}), Error);
}

TEST(Options, ComeFromTheEnvironment) {
  const Environment level("REGROW_ASYNC_LEVEL", "1"), lookahead("REGROW_LOOKAHEAD", "5");
  const Options options = Options::from_environment();
  EXPECT_EQ(options.async_level, 1u);
  EXPECT_EQ(options.lookahead, 5u);
  EXPECT_EQ(options.queue_commands, Options{}.queue_commands);
  Channel channel;
  EXPECT_EQ(channel.get_option("async_level"), 1u);
}

TEST(Options, ABadVariableIsAnErrorThatNamesIt) {
  for (const char* bad : {"two", "1x", "-1", "3", "99999999999999999999999"}) {
    const Environment level("REGROW_ASYNC_LEVEL", bad);
    EXPECT_THAT(message_of([] { Options::from_environment(); }), HasSubstr("REGROW_ASYNC_LEVEL")) << bad;
  }
}

TEST(Options, EveryOneIsDocumentedAndHasItsVariable) {
  EXPECT_EQ(option_specs().size() * sizeof(std::size_t), sizeof(Options));
  for (const OptionSpec& spec : option_specs()) {
    EXPECT_FALSE(spec.doc.empty());
    EXPECT_TRUE(spec.variable.starts_with("REGROW_"));
  }
}

}  // namespace
}  // namespace regrow
