// SPDX-License-Identifier: Apache-2.0
// `regrow plan`: what a recorded program would cost in smaller budgets.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "regrow/cli/commands.h"
#include "regrow/cli/engine_options.h"
#include "regrow/cli/plan_report.h"
#include "regrow/memory/spill_options.h"
#include "regrow/remat/policies.h"
#include "regrow/remat/trace_file.h"

namespace regrow::cli {
namespace {

struct PlanOptions {
  std::string trace, json, plot, rules = "regrow";
  remat::PlanQuestion question;
  std::vector<double> disk;  // MB/s: written, read
  bool explain = false, no_tuning = false;
};

int run_plan(PlanOptions& options) {
  using remat::Rules;
  const remat::Trace trace = remat::read_trace(options.trace);
  remat::PlanQuestion& question = options.question;
  question.rules = options.rules == "published" ? Rules::published : Rules::regrow;
  question.tune = !options.no_tuning;
  if (!options.disk.empty()) {
    question.disk = {.write_bytes_per_second = 1e6 * options.disk[0], .read_bytes_per_second = 1e6 * options.disk[1],
                     .staging_bytes = spill_staging_bytes};
  }
  if (options.explain) {
    const std::size_t budget = question.budgets.empty() ? 0 : question.budgets.front();
    std::fputs(explanation_text(remat::explain(trace, budget)).c_str(), stdout);
    if (question.ratios.empty() && options.json.empty() && options.plot.empty()) return 0;
  }
  if (question.ratios.empty() && question.budgets.empty()) question.ratios = {0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2};
  if (question.policies.empty()) question.policies = {std::string(remat::default_policy)};
  const remat::PlanAnswer answer = remat::plan(trace, question);
  std::fputs(plan_table(answer).c_str(), stdout);
  if (!options.json.empty()) write_text(options.json, plan_json(answer));
  if (!options.plot.empty()) write_text(options.plot, plan_svg(answer, std::filesystem::path(options.trace).stem().string()));
  return 0;
}

}  // namespace

Command add_plan(CLI::App& app) {
  auto options = std::make_shared<PlanOptions>();
  CLI::App* plan = app.add_subcommand("plan", "Replay a recorded program in smaller budgets: what each would cost.");
  plan->add_option("trace", options->trace, "a trace of `regrow train --trace`, or a published DTR log in plain form")->required();
  plan->add_option("--ratio", options->question.ratios, "budgets, as parts of the peak without one (default: 0.9 to 0.2)")
      ->check(positive_number() & CLI::Range(0.0, 10.0));
  plan->add_option("--budget", options->question.budgets, "budgets in bytes (512MiB)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber);
  std::vector<std::string> names;
  for (std::string_view name : remat::policies) names.emplace_back(name);
  plan->add_option("--policy", options->question.policies, "policies (default: next-use)")->check(CLI::IsMember(names));
  plan->add_option("--rules", options->rules, "regrow, or published: those of the DTR paper's simulator")
      ->check(CLI::IsMember({"regrow", "published"}));
  plan->add_option("--spill", options->disk, "evictions may write to a disk of so many MB/s, written and read")
      ->type_name("WRITE READ")
      ->expected(2)
      ->check(CLI::PositiveNumber);
  plan->add_flag("--no-tuning", options->no_tuning, "next-use keeps its usual settings instead of choosing them by replay");
  plan->add_option("--json", options->json, "write the figures there");
  plan->add_option("--plot", options->plot, "write a plot there, as SVG");
  plan->add_flag("--explain", options->explain, "say what stands at the peak, what pins it, and what a budget makes run again");
  return [options] { return run_plan(*options); };
}

}  // namespace regrow::cli
