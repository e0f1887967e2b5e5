// SPDX-License-Identifier: Apache-2.0
// More than the machine has: an error like any other, and not the end of the process.
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/runtime/gate.h"

namespace regrow {
namespace {

void expect_refusals(Channel& channel) {
  const std::int64_t memory = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  for (std::int64_t elements : {memory, std::int64_t{1} << 50}) {  // four bytes each
    const Handle large = apply_one(channel, op("full", {{"shape", Dims{elements}}, {"value", Scalar(1.5)}}), {});
    try {
      channel.wait(large);
      ADD_FAILURE() << elements << " were given";
    } catch (const OutOfBudget& error) {
      EXPECT_EQ(error.required_bytes() % (std::size_t{64} << 10), 0u);
      EXPECT_GE(error.required_bytes(), static_cast<std::size_t>(elements) * 4);
      EXPECT_NE(error.message().find("do not fit cpu:0: the system has"), std::string::npos) << error.message();
    }
  }
  const Handle a = put_large(channel, 1);
  EXPECT_EQ(channel.get_value(apply_one(channel, op("add"), {a, a})).to_vector<float>().at(1), 4.f);
}

TEST(Channel, RefusesWhatTheSystemHasNoMemoryForAndGoesOn) {
  for (const std::size_t budget : {std::size_t{0}, std::size_t{1} << 50}) {
    Channel channel(Options{});
    if (budget > 0) channel.set_memory_budget(budget);  // of more than there is: it changes nothing
    expect_refusals(channel);
  }
}

}  // namespace
}  // namespace regrow
