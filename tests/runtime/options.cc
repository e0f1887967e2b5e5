// SPDX-License-Identifier: Apache-2.0
// Options are checked wherever they come from, and take effect where they say.
#include "regrow/runtime/options.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/runtime/gate.h"

namespace regrow {
namespace {

using testing::HasSubstr;

class Environment {
 public:
  Environment(std::string_view name, std::string_view value) : name_(name) { setenv(name_.c_str(), std::string(value).c_str(), 1); }
  ~Environment() { unsetenv(name_.c_str()); }

 private:
  std::string name_;
};

// A value that is neither the default nor a limit, where there is one.
std::size_t another(const OptionSpec& spec) {
  const std::size_t usual = Options{}.*spec.member;
  return spec.most == 1 ? 1 - usual : usual == spec.least + 1 ? spec.least : spec.least + 1;
}

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

TEST(Options, EachIsTakenFromTheStructTheEnvironmentAndSetOption) {
  for (const OptionSpec& spec : option_specs()) {
    const std::size_t value = another(spec);
    Options options;
    options.*spec.member = value;
    EXPECT_EQ(Channel(options).get_option(spec.name), value) << spec.name;
    {
      const Environment variable(spec.variable, fmt::format("{}", value));
      EXPECT_EQ(Options::from_environment(), options) << spec.name << ": this one and no other";
      EXPECT_EQ(Channel().get_option(spec.name), value) << spec.name;
    }
    Channel channel(Options{});
    channel.set_option(spec.name, value);
    for (const OptionSpec& other : option_specs())
      EXPECT_EQ(channel.get_option(other.name), options.*other.member) << other.name << " after " << spec.name;
  }
}

TEST(Options, EachRefusesWhatIsOutOfItsRangeNamingItselfAndTheRange) {
  for (const OptionSpec& spec : option_specs()) {
    std::vector<std::size_t> bad;
    if (spec.least > 0) bad.push_back(spec.least - 1);
    if (spec.most != static_cast<std::size_t>(-1)) bad.push_back(spec.most + 1);
    ASSERT_FALSE(bad.empty()) << spec.name;
    for (std::size_t value : bad) {
      const auto says_so = [&](std::string_view what) {
        return testing::AllOf(HasSubstr(fmt::format("{} is {}, but must be ", what, value)), HasSubstr(fmt::format("{}", spec.least)));
      };
      Options options;
      options.*spec.member = value;
      EXPECT_THAT(message_of([&] { Channel channel(options); }), says_so(spec.name));
      const Environment variable(spec.variable, fmt::format("{}", value));
      EXPECT_THAT(message_of([] { Channel channel; }), says_so(spec.variable));
      Channel channel(Options{});
      EXPECT_THAT(message_of([&] { channel.set_option(spec.name, value); }), says_so(spec.name));
      EXPECT_EQ(channel.get_option(spec.name), Options{}.*spec.member) << spec.name;
    }
    for (const char* text : {"many", "1x", " 1", "-1", "0x1", "1.0", "99999999999999999999999"}) {
      const Environment variable(spec.variable, text);
      EXPECT_THAT(message_of([] { Options::from_environment(); }), testing::AllOf(HasSubstr(std::string(spec.variable)), HasSubstr(text)));
    }
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

TEST(Options, AnEmptyVariableIsNone) {
  const Environment level("REGROW_ASYNC_LEVEL", "");
  EXPECT_EQ(Options::from_environment(), Options{});
}

TEST(Options, EveryOneIsDocumentedAndHasItsVariable) {
  EXPECT_EQ(option_specs().size() * sizeof(std::size_t), sizeof(Options));
  for (const OptionSpec& spec : option_specs()) {
    EXPECT_FALSE(spec.doc.empty());
    std::string variable = fmt::format("REGROW_{}", spec.name);
    for (char& c : variable) c = static_cast<char>(std::toupper(c));
    EXPECT_EQ(spec.variable, variable);
  }
}

// On the caller at once …
TEST(SetOption, ActsOnTheNextCall) {
  Channel channel(Options{});
  Gate gate;
  const Handle x = put_large(channel, 0), y = apply_one(channel, op("exp"), {x});
  channel.sync();
  gate.close_on(channel);
  channel.set_option("enable_drop", 1);
  channel.set_option("enable_host_compute", 0);
  const Handle two = channel.put(ints({2}));
  HostArray known;
  EXPECT_FALSE(channel.host_value(apply_one(channel, op("add"), {two, two}), known));
  channel.set_option("enable_host_compute", 1);
  EXPECT_TRUE(channel.host_value(apply_one(channel, op("add"), {two, two}), known));
  channel.drop(y);
  channel.set_option("enable_drop", 0);
  gate.open();
  for (int i = 0; i < 2; ++i) {
    channel.get_value(y);
    channel.drop(y);  // ignored
  }
  EXPECT_EQ(channel.memory().recomputed_ops, 1u);
  channel.set_option("async_level", 0);
  const Handle index = channel.put(ints({99}));
  EXPECT_THROW(apply_one(channel, op("take", {{"axis", 0}}), {x, index}), AsyncError);
}

// … and on the worker at its place in the stream: what was issued before it is not concerned, however late it runs.
TEST(SetOption, IsPassedByWhatWasIssuedBeforeIt) {
  Channel channel(Options{.enable_drop = 1});
  Gate gate;
  gate.close_on(channel);
  const Handle x = put_large(channel, 0);
  const Handle recorded = apply_one(channel, op("exp"), {x});
  channel.set_option("record_computing_path", 0);
  const Handle unrecorded = apply_one(channel, op("negative"), {x});
  channel.set_option("record_computing_path", 1);
  const Handle again = apply_one(channel, op("tanh"), {x});
  for (Handle each : {recorded, unrecorded, again}) channel.drop(each);
  gate.open();
  channel.sync();
  for (Handle each : {recorded, unrecorded, again}) channel.get_value(each);
  EXPECT_EQ(channel.memory().recomputed_ops, 2u);
}

TEST(SetOption, AnErrorClosesTheChannelOnlyIfItRunsAfterwards) {
  Channel channel(Options{});
  Gate gate;
  gate.close_on(channel);
  const Handle x = put_large(channel, 0);
  const Handle index = channel.put(ints({99}));
  const Handle early = apply_one(channel, op("take", {{"axis", 0}}), {x, index});
  channel.set_option("catch_worker_exception", 0);
  const Handle good = apply_one(channel, op("exp"), {x});
  gate.open();
  EXPECT_THROW(channel.wait(early), AsyncError);
  EXPECT_EQ(channel.get_value(good).to_vector<float>()[0], 1.f);
  EXPECT_FALSE(channel.closed());
  const Handle late = apply_one(channel, op("take", {{"axis", 0}}), {x, index});
  EXPECT_THROW(channel.wait(late), AsyncError);
  EXPECT_THROW(channel.wait(good), AsyncError);
  EXPECT_TRUE(channel.closed());
}

}  // namespace
}  // namespace regrow
