// SPDX-License-Identifier: Apache-2.0
#include "regrow/cli/engine_options.h"

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "regrow/regrow.h"
#include "regrow/remat/policies.h"

namespace regrow::cli {
namespace {

// What the engine takes for an option.
CLI::Range range_of(std::string_view option) {
  for (const OptionSpec& spec : option_specs()) {
    if (spec.name == option) return CLI::Range(spec.least, spec.most);
  }
  fail("no option is named '{}'", option);
}

std::string complaint(const std::string& text) {
  std::size_t read = 0;
  double value = 0;
  try {
    value = std::stod(text, &read);
  } catch (const std::exception&) {
    read = 0;
  }
  const bool ok = read == text.size() && !text.empty() && std::isfinite(value) && value > 0;
  return ok ? std::string() : "'" + text + "' is not a positive number";
}

}  // namespace

void EngineOptions::add_to(CLI::App& command) {
  command.add_option("--threads", threads_, "Threads for kernels (all processors)")->check(CLI::Range(1, 1024));
  command.add_option("--async-level", async_level_, "0: every call waits, 1: where the shape is unknown, 2: none (2)")
      ->check(range_of("async_level"));
  command.add_option("--lookahead", lookahead_, "Commands held back for fusion (32)")->check(range_of("lookahead"));
  std::vector<std::string> policies(std::begin(remat::policies), std::end(remat::policies));
  command.add_option("--policy", policy_, "Who says what is evicted first, where a budget obliges to (" + policies.front() + ")")
      ->check(CLI::IsMember(policies));
  command.add_flag("--verify", verify_, "Compare what is computed again with what it was first; name the operator that differs");
}

void EngineOptions::apply() const {
  if (threads_) kernels::set_kernel_threads(*threads_);
  if (async_level_) default_channel().set_option("async_level", *async_level_);
  if (!policy_.empty()) default_channel().set_option("policy", policy_);
  if (verify_) default_channel().set_option("verify", 1);
  if (lookahead_) default_channel().set_option("lookahead", *lookahead_);
}

CLI::Validator positive_number() { return CLI::Validator(complaint, "POSITIVE", "positive"); }

}  // namespace regrow::cli
