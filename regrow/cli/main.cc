// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <csignal>

#include "regrow/cli/commands.h"

// Nothing of ours outlives the process, so Ctrl-C need not wait for anything.
static void end_interrupted(int) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, "\n", 1);  // the shell's prompt begins a line of its own
  _exit(regrow::cli::exit_interrupted);
}

int main(int argc, char** argv) {
  std::signal(SIGINT, end_interrupted);
  return regrow::cli::run(argc, argv);
}
