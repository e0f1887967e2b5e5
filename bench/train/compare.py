#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One training step of each model, regrow and PyTorch (Debian's python3-torch, bench/peers) in turn in one run: JSON.

    bench/train/compare.py [MODEL...] [--threads 1 2] [--size medium] [--seconds 10] [--bench build/release/bin/bench_train]

Each side is a process of its own with the same initial values and batches; while one works, the other is stopped. Times are medians
over turns, memory is the high-water mark (VmHWM) over what a first step at the small size had left. PyTorch runs in the best of its
settings, found before: waiting threads that sleep or spin (OMP_WAIT_POLICY), kernels for AVX-512 or AVX2 (ATEN_CPU_CAPABILITY), and
channels-last images where there are convolutions.
"""
import argparse
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = ["mlp", "cnn", "resnet", "unet", "lstm", "gpt"]
CONVOLUTIONAL = ("cnn", "resnet", "unet")
PEER = os.path.join(HERE, "../peers/train.py")


class Side:
    """A process that runs steps when told to, and is stopped in between."""

    def __init__(self, command, threads, environment=None):
        pinned = ["taskset", "-c", "0"] if threads == 1 else []
        self.process = subprocess.Popen(pinned + command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **(environment or {})})
        self.answer()
        self.process.send_signal(signal.SIGSTOP)

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args} ended with {self.process.wait()}")
        return json.loads(line)

    def steps(self, count):
        """Seconds a step."""
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        seconds = self.answer()["seconds"] / count
        self.process.send_signal(signal.SIGSTOP)
        return seconds

    def end(self):
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        result = self.answer()
        self.process.wait()
        return result


def settings_of(model):
    layouts = [False, True] if model in CONVOLUTIONAL else [False]
    for policy, capability, channels_last in itertools.product(["PASSIVE", "ACTIVE"], ["avx2", "avx512"], layouts):
        yield {"OMP_WAIT_POLICY": policy, "ATEN_CPU_CAPABILITY": capability, "channels_last": channels_last}


class Question:
    def __init__(self, model, threads, arguments, folder):
        self.model, self.threads, self.arguments = model, threads, arguments
        self.start, self.warm = os.path.join(folder, "start"), os.path.join(folder, "warm")
        for path, size, count in ((self.start, arguments.size, arguments.batches), (self.warm, "small", 1)):
            subprocess.run([arguments.bench, model, "--size", size, "--batches", str(count), "--export", path], check=True,
                           stdout=subprocess.DEVNULL)

    def ours(self):
        return Side([self.arguments.bench, self.model, "--size", self.arguments.size, "--threads", str(self.threads), "--batches",
                     str(self.arguments.batches), "--turns"], self.threads)

    def theirs(self, setting):
        command = ["/usr/bin/python3", PEER, "--start", self.start, "--warm", self.warm, "--threads", str(self.threads), "--turns"]
        variables = {name: value for name, value in setting.items() if name.isupper()}
        return Side(command + (["--channels-last"] if setting["channels_last"] else []), self.threads, variables)

    def best_setting(self):
        times = []
        for setting in settings_of(self.model):
            side = self.theirs(setting)
            side.steps(2)
            times.append((min(side.steps(2) for _ in range(3)), len(times), setting))
            side.end()
        return min(times)[2]

    def answer(self):
        setting = self.best_setting()
        sides = {"regrow": self.ours(), "torch": self.theirs(setting)}
        counts, times = {}, {name: [] for name in sides}
        for name, side in sides.items():
            side.steps(3)
            counts[name] = max(1, round(0.2 / side.steps(2)))  # turns of about a fifth of a second
        spent = 0
        while spent < self.arguments.seconds or len(times["torch"]) < 5:
            for name, side in sides.items():
                times[name].append(side.steps(counts[name]))
                spent += times[name][-1] * counts[name]
        result = {"model": self.model, "threads": self.threads, "size": self.arguments.size, "turns": len(times["torch"]),
                  "torch_setting": setting}
        for name, side in sides.items():
            end = side.end()
            result[name] = {"seconds_per_step": statistics.median(times[name]), "fastest": min(times[name]), **end}
        result["speedup"] = result["torch"]["seconds_per_step"] / result["regrow"]["seconds_per_step"]
        result["memory_ratio"] = result["regrow"]["extra_bytes"] / result["torch"]["extra_bytes"]
        return result


def main():
    parser = argparse.ArgumentParser(description="One training step of each model, regrow and PyTorch in turn")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--size", default="medium")
    parser.add_argument("--batches", type=int, default=4, help="different ones, used in turn")
    parser.add_argument("--seconds", type=float, default=10, help="of measuring, each model and number of threads")
    parser.add_argument("--bench", default=os.path.join(HERE, "../../build/release/bin/bench_train"))
    arguments = parser.parse_args()
    results = []
    for model, threads in itertools.product(arguments.models or MODELS, arguments.threads):
        with tempfile.TemporaryDirectory() as folder:
            results.append(Question(model, threads, arguments, folder).answer())
        print(json.dumps(results[-1]), file=sys.stderr, flush=True)
    speedups = [result["speedup"] for result in results]
    print(json.dumps({"results": results, "geometric_mean_speedup": statistics.geometric_mean(speedups)}, indent=2))


if __name__ == "__main__":
    main()
