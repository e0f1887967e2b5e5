// SPDX-License-Identifier: Apache-2.0
// `regrow info`: what this build is and what it runs on.
#include <absl/base/config.h>
#include <fmt/format.h>
#include <hwy/highway.h>
#include <spdlog/version.h>
#include <unistd.h>
#include <xxhash.h>
#include <zlib.h>
#include <dnnl.hpp>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "regrow/base/units.h"
#include "regrow/cli/commands.h"
#include "regrow/kernels/parallel.h"
#include "regrow/ops/op.h"
#include "regrow/runtime/options.h"

namespace regrow::cli {
namespace {

// The sets that kernels may choose from on this processor, best first.
std::string instruction_sets() {
  std::string text;
  for (std::int64_t left = hwy::SupportedTargets(); left != 0; left &= left - 1) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", hwy::TargetName(left & -left));
  }
  return text;
}

std::string dnnl_version_text() {
  const dnnl_version_t& version = *dnnl_version();
  const char* threads = version.cpu_runtime == DNNL_RUNTIME_OMP   ? "OpenMP"
                        : version.cpu_runtime == DNNL_RUNTIME_SEQ ? "sequential"
                                                                  : "other";
  return fmt::format("{}.{}.{} ({})", version.major, version.minor, version.patch, threads);
}

std::string dotted(unsigned major, unsigned minor, unsigned patch) { return fmt::format("{}.{}.{}", major, minor, patch); }

std::string libraries() {
  const unsigned xxhash = XXH_versionNumber();
  return fmt::format("oneDNN {}, Highway {}, abseil {}, fmt {}, spdlog {}, zlib {}, xxhash {}, CLI11 {}, nlohmann-json {}",
                     dnnl_version_text(), dotted(HWY_MAJOR, HWY_MINOR, HWY_PATCH), ABSL_LTS_RELEASE_VERSION,
                     dotted(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100),
                     dotted(SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH), zlibVersion(),
                     dotted(xxhash / 10000, xxhash / 100 % 100, xxhash % 100), CLI11_VERSION,
                     dotted(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH));
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

void print(std::string_view what, const std::string& value) { fmt::print("{:<14} {}\n", what, value); }

int print_info() {
  print("version", REGROW_VERSION);
  print("compiler", compiler());
  print("devices", fmt::format("cpu:0 and up, arenas in this machine's memory ({})",
                               format_bytes(static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                                            static_cast<std::size_t>(sysconf(_SC_PAGESIZE)))));
  print("threads", fmt::format("{} for kernels, {} processors", kernels::kernel_threads(), std::thread::hardware_concurrency()));
  print("instructions", instruction_sets());
  print("libraries", libraries());
  print("operators", std::to_string(all_ops().size()));
  fmt::print("\noptions (from the environment, or Channel::set_option)\n");
  const Options options = Options::from_environment();
  for (const OptionSpec& spec : option_specs()) {
    const std::size_t value = options.*spec.member;
    const std::string text = spec.names.empty() ? std::to_string(value) : std::string(spec.names[value]);
    fmt::print("  {:<24} {:<34} {:<10} {}{}{}\n", spec.name, spec.variable, text, spec.doc, spec.names.empty() ? "" : " One of: ",
               fmt::join(spec.names, ", "));
  }
  return 0;
}

}  // namespace

Command add_info(CLI::App& app) {
  app.add_subcommand("info", "Version, devices, threads, instruction sets, libraries, options");
  return print_info;
}

}  // namespace regrow::cli
