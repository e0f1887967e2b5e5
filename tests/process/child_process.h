// SPDX-License-Identifier: Apache-2.0
// Runs a program in a process of its own, bounds its time, and says how it ended. One thread.
#pragma once

#include <string>
#include <vector>

namespace regrow {

struct Ending {
  int exit_code = -1;  // -1: did not exit by itself
  int signal = 0;      // that ended it
  bool hung = false;   // was alive at the limit, and was killed
  double seconds = 0;
  std::string out, err;
};
std::ostream& operator<<(std::ostream& stream, const Ending& ending);

struct RunOptions {
  double limit_seconds = 30;
  int signal = 0;          // to send,
  std::string after = {};  // once this has appeared on its output
};

// Requires a path as argv[0]. Standard input is empty. Throws std::runtime_error if the process cannot be started.
Ending run_process(const std::vector<std::string>& argv, const RunOptions& options = {});

}  // namespace regrow
