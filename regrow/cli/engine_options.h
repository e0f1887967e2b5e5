// SPDX-License-Identifier: Apache-2.0
// Options of the engine and checks of values that commands share. Main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace regrow::cli {

class EngineOptions {
 public:
  void add_to(CLI::App& command);  // it must live as long as the parser
  void apply() const;

 private:
  std::optional<int> threads_;
  std::optional<std::size_t> async_level_, lookahead_;
  std::string policy_;
  bool verify_ = false;
};

CLI::Validator positive_number();
inline CLI::Range counts() { return CLI::Range(std::int64_t{1}, std::int64_t{1} << 40); }

}  // namespace regrow::cli
