# SPDX-License-Identifier: Apache-2.0
"""Two programs that take turns on one machine."""
import json
import os
import signal
import subprocess


class Side:
    """A process that runs steps when told to, and is stopped in between."""

    def __init__(self, command, environment=None, pinned=False):
        prefix = ["taskset", "-c", "0"] if pinned else []
        self.process = subprocess.Popen(prefix + command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **(environment or {})})
        self.about = self.answer()
        self.process.send_signal(signal.SIGSTOP)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args} ended with {self.process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer

    def ask(self, line):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        answer = self.answer()
        self.process.send_signal(signal.SIGSTOP)
        return answer

    def steps(self, count):
        """Seconds a step."""
        return self.ask(count)["seconds"] / count

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        result = self.answer()
        self.process.wait()
        return result
