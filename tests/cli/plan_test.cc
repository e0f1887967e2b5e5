// SPDX-License-Identifier: Apache-2.0
// `regrow plan` as a user runs it, on a program whose figures are computed by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/cli/program.h"

namespace regrow {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Unit: 64 KiB. Of a source (1 unit) a (1 s, 2 units) and b (4 s, 2 units) are made, c (1 s, 1 unit) of a, d (1 s, 1 unit) of c and a,
// which end there, at last e (1 s, 1 unit) of b, which ends there.
//
// Alive at d: source, a, b, c, d: 7 units. All but b are its own operands, or pinned: 5 units are the floor. In those b must be made again:
// 4 s to the program's 8. The bound is a knapsack of fractions: in 5.25 units 1.75 of b's 2 units come back, 3.5 s.
constexpr const char* diamond =
    "regrow-trace 1\n"
    "put 65536 0\n"
    "op a 1 1000000000 0 0 r 1 0 1 131072 -1 0 0\n"
    "op b 2 4000000000 0 0 r 1 0 1 131072 -1 0 0\n"
    "op c 3 1000000000 0 0 r 1 1 1 65536 -1 0 0\n"
    "op d 4 1000000000 0 0 r 2 3 1 1 65536 -1 0 2 3 1\n"
    "op e 5 1000000000 0 0 r 1 2 1 65536 -1 0 1 2\n";
constexpr std::size_t unit = std::size_t{64} << 10;

class Plan : public Program {
 protected:
  std::string trace() const { return folder_.write("diamond.trace", diamond); }
  Ending plan(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"plan", trace()});
    return run(arguments);
  }
  json figures(std::vector<std::string> arguments) const {
    const std::string file = folder_.path() / "plan.json";
    arguments.insert(arguments.end(), {"--json", file});
    const Ending ending = plan(arguments);
    EXPECT_EQ(ending.exit_code, 0) << ending;
    EXPECT_EQ(ending.err, "");
    return json::parse(std::ifstream(file), nullptr, false);
  }
};

TEST_F(Plan, TheFiguresAreThoseOfTheHand) {
  const json answer = figures({"--ratio", "0.3", "0.75", "1", "--policy", "next-use", "lru"});
  EXPECT_EQ(answer.at("peak_bytes"), 7 * unit);
  EXPECT_EQ(answer.at("floor_bytes"), 5 * unit);
  const json& results = answer.at("results");
  ASSERT_EQ(results.size(), 6u);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const json& row = results[i];
    EXPECT_EQ(row.at("policy"), i < 3 ? "next-use" : "lru");
    for (const char* figure : {"budget_bytes", "peak_bytes", "evictions", "recomputed_ops", "search_seconds"}) {
      EXPECT_TRUE(row.at(figure).is_number()) << figure << ": " << row;
    }
  }
  const json &small = results[0], &middle = results[1], &whole = results[2];
  EXPECT_EQ(small.at("status"), "infeasible");
  EXPECT_TRUE(small.at("overhead").is_null());
  EXPECT_TRUE(small.at("lower_bound").is_null()) << "nothing fits below the floor";
  EXPECT_EQ(middle.at("status"), "ok");
  EXPECT_NEAR(middle.at("overhead"), 0.5, 1e-9);
  EXPECT_NEAR(middle.at("lower_bound"), 3.5 / 8, 1e-9);
  EXPECT_EQ(middle.at("recomputed_ops"), 1);
  EXPECT_EQ(middle.at("evictions"), 1);
  EXPECT_EQ(middle.at("peak_bytes"), 5 * unit);
  EXPECT_EQ(whole.at("overhead"), 0);
  EXPECT_EQ(whole.at("peak_bytes"), 7 * unit);
  EXPECT_EQ(answer.at("smallest_budgets"), (json{{"next-use", 5 * unit}, {"lru", 5 * unit}}));
}

TEST_F(Plan, RatiosComeBackAsTheyWereAskedFor) {
  const json answer = figures({"--ratio", "0.3", "0.9", "0.7", "--budget", "320KiB"});
  std::vector<json> ratios;
  for (const json& row : answer.at("results")) ratios.push_back(row.at("ratio"));
  EXPECT_EQ(ratios, (std::vector<json>{0.3, 0.7, 5.0 / 7, 0.9})) << "budgets ascend";
  EXPECT_EQ(answer.at("results")[2].at("budget_bytes"), 5 * unit);
  EXPECT_EQ(figures({"--ratio", "1e-9"}).at("results")[0].at("status"), "infeasible") << "a budget of nothing is a budget";
  EXPECT_EQ(figures({"--ratio", "1", "--budget", std::to_string(7 * unit)}).at("results").size(), 1u) << "the same budget twice";
}

TEST_F(Plan, TheTableHasALineForEachPolicyAndBudget) {
  const Ending ending = plan({"--ratio", "0.3", "0.75", "--policy", "dtr-eq", "size"});
  EXPECT_EQ(ending.exit_code, 0) << ending;
  EXPECT_THAT(ending.out, testing::ContainsRegex("dtr-eq +0.300 .*infeasible"));
  EXPECT_THAT(ending.out, testing::ContainsRegex("dtr-eq +0.750 .*ok +50.00 % +43.75 %"));
  EXPECT_THAT(ending.out, testing::ContainsRegex("size +0.750 .*ok"));
  EXPECT_THAT(ending.out, testing::ContainsRegex("smallest budget.*\n  dtr-eq +320.*\n  size +320"));
}

TEST_F(Plan, APublishedLogGivesTheSameFigures) {
  const std::string log = folder_.write("published",
                                        "K 0 65536\nP 0\n"
                                        "C 1000000000 1 0 1 1 131072 -1 a\n"
                                        "C 4000000000 1 0 1 2 131072 -1 b\n"
                                        "C 1000000000 1 1 1 3 65536 -1 c\n"
                                        "C 1000000000 2 3 1 1 4 65536 -1 d\nR 3\nR 1\n"
                                        "C 1000000000 1 2 1 5 65536 -1 e\nR 2\n");
  const std::string file = folder_.path() / "published.json";
  for (const char* rules : {"regrow", "published"}) {
    const Ending ending = run({"plan", log, "--rules", rules, "--policy", "dtr-eq", "--budget", "320KiB", "--json", file});
    ASSERT_EQ(ending.exit_code, 0) << ending;
    const json answer = json::parse(std::ifstream(file), nullptr, false);
    EXPECT_EQ(answer.at("peak_bytes"), 7 * unit) << rules;
    EXPECT_NEAR(answer.at("results")[0].at("overhead"), 0.5, 1e-9) << rules;
  }
}

TEST_F(Plan, ThePlotIsWellFormedWithALineForEachPolicyAndTheBound) {
  const std::string odd = folder_.write("a<b & 'c'.trace", diamond), plot = folder_.path() / "plan.svg";
  const Ending ending = run({"plan", odd, "--ratio", "0.75", "0.9", "1", "--policy", "next-use", "size", "--plot", plot});
  ASSERT_EQ(ending.exit_code, 0) << ending;
  const Ending read = run_process(
      {"/usr/bin/python3", "-c",
       "import sys, xml.etree.ElementTree as tree\n"
       "svg = tree.parse(sys.argv[1]).getroot()\n"
       "name = '{http://www.w3.org/2000/svg}'\n"
       "assert svg.tag == name + 'svg', svg.tag\n"
       "print(len(svg.findall(name + 'polyline')), len(svg.findall(name + 'circle')))\n"
       "print(' '.join(text.text for text in svg.findall(name + 'text')))\n",
       plot});
  ASSERT_EQ(read.exit_code, 0) << read;
  EXPECT_THAT(read.out, testing::StartsWith("3 9\n"));
  for (const char* text : {"a<b & 'c'", "next-use", "size", "lower bound"}) EXPECT_THAT(read.out, HasSubstr(text));
}

TEST_F(Plan, ExplainSaysWhatStandsAtThePeakAndWhatRunsAgain) {
  const Ending ending = plan({"--explain", "--budget", "320KiB"});
  EXPECT_EQ(ending.exit_code, 0) << ending;
  EXPECT_THAT(ending.out, testing::ContainsRegex("peak: command 4, d.*\n"
                                                 "  64.0 KiB pinned .*256.0 KiB operands and workspace, 128.0 KiB that may go"));
  EXPECT_THAT(ending.out, testing::ContainsRegex("run again.*\n.*\n  b +1 +1 +4000.000 ms"));
  EXPECT_THAT(ending.out, Not(HasSubstr("overhead"))) << "no table unless asked for";
  EXPECT_THAT(plan({"--explain", "--ratio", "0.75"}).out, HasSubstr("overhead"));
}

TEST_F(Plan, BadTracesAreOneLineAndExitCodeOne) {
  expect_complaint({"plan", folder_.path() / "none"}, 1, "cannot open");
  expect_complaint({"plan", folder_.path()}, 1, "a folder");
  expect_complaint({"plan", folder_.write("empty", "")}, 1, "empty: holds no operation");
  expect_complaint({"plan", folder_.write("head", "regrow-trace 1\n")}, 1, "head: holds no operation");
  expect_complaint({"plan", folder_.write("newer", "regrow-trace 7\n")}, 1, "a version that this program does not know");
  expect_complaint({"plan", folder_.write("text", "to be or not to be\n")}, 1, "text:1: 'to' is not a command");
  expect_complaint({"plan", folder_.write("binary", std::string("\0\x1f\x8b\xff", 4))}, 1, "binary:1: ");
  const std::string cut = std::string(diamond).substr(0, 60);
  expect_complaint({"plan", folder_.write("cut", cut)}, 1, "cut:3: ");
  expect_complaint({"plan", trace(), "--rules", "published", "--policy", "coop"}, 1, "coop");
}

TEST_F(Plan, WhatCannotBeWrittenIsOneLineAndExitCodeOne) {
  expect_complaint({"plan", trace(), "--json", folder_.path() / "none" / "a.json"}, 1, "cannot write");
  expect_complaint({"plan", trace(), "--plot", folder_.path() / "none" / "a.svg"}, 1, "cannot write");
  if (std::ofstream("/dev/full").good()) expect_complaint({"plan", trace(), "--json", "/dev/full"}, 1, "/dev/full");
}

TEST_F(Plan, WrongArgumentsAreOneLineAndExitCodeTwo) {
  expect_complaint({"plan"}, 2, "trace");
  expect_complaint({"plan", trace(), "--ratio", "-0.1"}, 2, "--ratio");
  expect_complaint({"plan", trace(), "--ratio", "0"}, 2, "--ratio");
  expect_complaint({"plan", trace(), "--ratio", "11"}, 2, "--ratio");
  expect_complaint({"plan", trace(), "--ratio", "nan"}, 2, "--ratio");
  expect_complaint({"plan", trace(), "--ratio", "half"}, 2, "--ratio");
  expect_complaint({"plan", trace(), "--budget", "much"}, 2, "--budget");
  expect_complaint({"plan", trace(), "--budget", "0"}, 2, "--budget");
  expect_complaint({"plan", trace(), "--budget", "3 apples"}, 2, "--budget");
  expect_complaint({"plan", trace(), "--policy", "best"}, 2, "--policy");
  expect_complaint({"plan", trace(), "--rules", "mine"}, 2, "--rules");
  expect_complaint({"plan", trace(), "--colour"}, 2, "--colour");
}

}  // namespace
}  // namespace regrow
