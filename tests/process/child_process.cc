// SPDX-License-Identifier: Apache-2.0
#include "tests/process/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ostream>
#include <stdexcept>

namespace regrow {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  int read_end = -1, write_end = -1;
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) throw std::runtime_error("no pipe");
    read_end = ends[0], write_end = ends[1];
  }
  ~Pipe() {
    close(read_end);
    if (write_end >= 0) close(write_end);
  }
  void drain(std::string& text) const {
    char buffer[4096];
    for (ssize_t got; (got = read(read_end, buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<std::size_t>(got));
  }
};

pid_t start(const std::vector<std::string>& argv, const Pipe& out, const Pipe& err) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    const int nothing = open("/dev/null", O_RDONLY);
    dup2(nothing, STDIN_FILENO), dup2(out.write_end, STDOUT_FILENO), dup2(err.write_end, STDERR_FILENO);
    // What the child writes to must block it when full, not fail.
    fcntl(STDOUT_FILENO, F_SETFL, 0), fcntl(STDERR_FILENO, F_SETFL, 0);
    std::signal(SIGINT, SIG_DFL);  // a shell's background jobs inherit that it is ignored
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  return child;
}

}  // namespace

Ending run_process(const std::vector<std::string>& argv, const RunOptions& options) {
  Pipe out, err;
  const Clock::time_point begin = Clock::now();
  const pid_t child = start(argv, out, err);
  Ending ending;
  bool signalled = options.signal == 0;
  int status = 0;
  auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  while (waitpid(child, &status, WNOHANG) == 0) {
    out.drain(ending.out), err.drain(ending.err);
    if (!signalled && ending.out.find(options.after) != std::string::npos) {
      kill(child, options.signal);
      signalled = true;
    }
    if (elapsed() > options.limit_seconds) {
      ending.hung = true;
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    pollfd readable{out.read_end, POLLIN, 0};
    poll(&readable, 1, 2);
  }
  ending.seconds = elapsed();
  out.drain(ending.out), err.drain(ending.err);
  if (WIFEXITED(status)) ending.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) ending.signal = WTERMSIG(status);
  return ending;
}

std::ostream& operator<<(std::ostream& stream, const Ending& e) {
  return stream << (e.hung ? "hung, " : "") << "exit code " << e.exit_code << ", signal " << e.signal << " after " << e.seconds
                << " s\nout: " << e.out << "\nerr: " << e.err;
}

}  // namespace regrow
