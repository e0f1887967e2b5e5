// SPDX-License-Identifier: Apache-2.0
// The commands of the program: each adds itself, with its options and help, to the parser. Main thread.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>

namespace regrow::cli {

// Runs a command once the whole line is parsed; returns the exit code.
using Command = std::function<int()>;

Command add_train(CLI::App& app);
Command add_sample(CLI::App& app);
Command add_ops(CLI::App& app);
Command add_info(CLI::App& app);
Command add_plan(CLI::App& app);

// The user's line is wrong in a way that the parser could not see: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Exit codes of the program.
inline constexpr int exit_failed = 1;         // the data, the machine or the computation
inline constexpr int exit_usage = 2;          // the command line
inline constexpr int exit_interrupted = 130;  // Ctrl-C

// The whole program. Prints errors on stderr, one line each.
int run(int argc, const char* const* argv);

}  // namespace regrow::cli
