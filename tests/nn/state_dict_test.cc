// SPDX-License-Identifier: Apache-2.0
// State dictionaries: names and order as PyTorch's, what fits, what is said of what does not.
#include "regrow/nn/state_dict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "regrow/frontend/create.h"
#include "regrow/frontend/derived.h"
#include "regrow/nn/nn.h"

namespace regrow::nn {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

template <class F>
std::string message_of(F&& run) {
  try {
    run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

struct Block : Module {
  Linear inner = Linear(2, 2);
  Buffer count = Buffer(tensor(std::int64_t{7}));
  Parameter scale = Parameter(ones({2}));
  Block() { add("inner", inner), add("count", count), add("scale", scale); }
};

std::vector<std::string> names_of(const StateDict& state) {
  std::vector<std::string> names;
  for (const auto& [name, value] : state) names.push_back(name);
  return names;
}

StateDict without(StateDict state, const std::string& name) {
  std::erase_if(state, [&](const auto& entry) { return entry.first == name; });
  return state;
}

// The order that PyTorch 1.13's state_dict() lists the same module in.
TEST(StateDict, NamesParametersBuffersAndWhatIsBelow) {
  Module net;
  net.add("0", Linear(3, 2));
  net.add("block", Block());
  const StateDict state = net.state_dict();
  EXPECT_THAT(names_of(state),
              ElementsAre("0.weight", "0.bias", "block.scale", "block.count", "block.inner.weight", "block.inner.bias"));
  for (const auto& [name, value] : state) EXPECT_FALSE(value.needs_grad()) << name;
}

TEST(StateDict, IsASnapshot) {
  const Block block;
  const StateDict state = block.state_dict();
  block.count.set_value(tensor(std::int64_t{8}));
  EXPECT_EQ(state.at(1).second.item<std::int64_t>(), 7);
}

TEST(StateDict, LoadsIntoAnotherModuleOfTheShape) {
  const Block from, to;
  from.count.set_value(tensor(std::int64_t{9}));
  EXPECT_TRUE(to.load_state_dict(from.state_dict()).empty());
  EXPECT_EQ(to.count.value().item<std::int64_t>(), 9);
  EXPECT_EQ(to.inner.weight().value().to_vector<float>(), from.inner.weight().value().to_vector<float>());
  sum(to.inner(ones({1, 2}))).backward();  // parameters are leaves still
  EXPECT_TRUE(to.inner.weight().grad().defined());
  EXPECT_FALSE(from.inner.weight().grad().defined());
}

TEST(StateDict, OrderDoesNotMatter) {
  const Block from, to;
  StateDict state = from.state_dict();
  std::reverse(state.begin(), state.end());
  to.load_state_dict(state);
  EXPECT_EQ(to.inner.bias().value().to_vector<float>(), from.inner.bias().value().to_vector<float>());
}

TEST(StateDict, StrictlyEverythingMustFitAndOtherwiseNothingChanges) {
  const Block block;
  const std::vector<float> before = block.inner.weight().value().to_vector<float>();
  StateDict state = without(Block().state_dict(), "count");
  state.emplace_back("extra", ones({1}));
  state.emplace_back("scale", ones({2}));  // a second time
  EXPECT_THAT(message_of([&] { block.load_state_dict(state); }),
              AllOf(HasSubstr("missing: count"), HasSubstr("unexpected: extra, scale"), HasSubstr("state_dict_test.cc")));
  EXPECT_EQ(block.inner.weight().value().to_vector<float>(), before);
}

TEST(StateDict, LoadsWhatThereIsWhenNotStrict) {
  const Block block;
  StateDict state = {{"inner.bias", tensor({3.f, 4.f})}, {"other", ones({1})}};
  const StateDifference difference = block.load_state_dict(state, {.strict = false});
  EXPECT_THAT(difference.missing, ElementsAre("scale", "count", "inner.weight"));
  EXPECT_THAT(difference.unexpected, ElementsAre("other"));
  EXPECT_THAT(difference.mismatched, IsEmpty());
  EXPECT_THAT(block.inner.bias().value().to_vector<float>(), ElementsAre(3, 4));
}

TEST(StateDict, ShapesAndTypesMustAgreeAlways) {
  const Block block;
  const std::vector<float> before = block.inner.bias().value().to_vector<float>();
  for (const bool strict : {true, false}) {
    StateDict state = Block().state_dict();
    state.at(0).second = ones({3});
    state.at(1).second = tensor(7.f);
    EXPECT_THAT(message_of([&] { block.load_state_dict(state, {.strict = strict}); }),
                AllOf(HasSubstr("scale is f32(3,), not f32(2,)"), HasSubstr("count is f32(), not i64()")));
  }
  EXPECT_EQ(block.inner.bias().value().to_vector<float>(), before);
}

TEST(StateDict, LongListsAreCutShort) {
  Module module;
  for (int i = 0; i < 15; ++i) module.add("p" + std::to_string(i), Parameter(ones({1})));
  EXPECT_THAT(message_of([&] { module.load_state_dict({}); }), HasSubstr("p9 and 5 more"));
}

}  // namespace
}  // namespace regrow::nn
