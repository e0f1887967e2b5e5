// SPDX-License-Identifier: Apache-2.0
#include "regrow/cli/in_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "regrow/base/error.h"

namespace regrow::cli {
namespace {

// The number in eight bytes, or what went wrong.
[[noreturn]] void report(int out, const std::function<std::uint64_t()>& find) {
  std::string answer(sizeof(std::uint64_t), '\0');
  int code = 0;
  try {
    const std::uint64_t number = find();
    std::memcpy(answer.data(), &number, sizeof number);
  } catch (const Error& error) {
    answer = error.message(), code = 1;
  } catch (const std::exception& error) {
    answer = error.what(), code = 1;
  }
  for (std::size_t done = 0; done < answer.size();) {
    const ssize_t written = write(out, answer.data() + done, answer.size() - done);
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  _exit(code);
}

std::string read_all(int in) {
  std::string text;
  char buffer[512];
  for (;;) {
    const ssize_t got = read(in, buffer, sizeof buffer);
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    else if (got == 0 || errno != EINTR) return text;
  }
}

}  // namespace

std::uint64_t in_child(const std::function<std::uint64_t()>& find) {
  int ends[2];
  require(pipe(ends) == 0, "pipe: {}", std::strerror(errno));
  std::fflush(nullptr);
  const pid_t child = fork();
  require(child >= 0, "fork: {}", std::strerror(errno));
  if (child == 0) {
    close(ends[0]);
    report(ends[1], find);
  }
  close(ends[1]);
  const std::string answer = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  require(!WIFSIGNALED(status), "the process that measured the peak was ended by signal {}", WTERMSIG(status));
  if (WEXITSTATUS(status) != 0) throw Error(answer);
  std::uint64_t number = 0;
  require(answer.size() == sizeof number, "the process that measured the peak said nothing");
  std::memcpy(&number, answer.data(), sizeof number);
  return number;
}

}  // namespace regrow::cli
