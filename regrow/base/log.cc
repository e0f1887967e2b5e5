// SPDX-License-Identifier: Apache-2.0
#include "regrow/base/log.h"

#include <spdlog/common.h>
#include <spdlog/sinks/ansicolor_sink.h>

#include <cstdlib>
#include <memory>
#include <string_view>

namespace regrow {
namespace {

spdlog::logger* make() {
  // Not in the registry of spdlog, which is destroyed at exit and may be another one in a program that has its own spdlog.
  auto* logger = new spdlog::logger("regrow", std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>());
  logger->set_pattern("%^[%n %l]%$ %v");
  logger->flush_on(spdlog::level::trace);
  const char* text = std::getenv("REGROW_LOG");
  const std::string_view name = text != nullptr ? text : "";
  const auto level = spdlog::level::from_str(std::string(name));  // off, if it knows no such name
  const bool known = level != spdlog::level::off || name == "off";
  logger->set_level(name.empty() || !known ? spdlog::level::warn : level);
  if (!name.empty() && !known) logger->warn("REGROW_LOG: no such level: {}", name);
  return logger;
}

}  // namespace

spdlog::logger& log() {
  static spdlog::logger& logger = *make();
  return logger;
}

}  // namespace regrow
