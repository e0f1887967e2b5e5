#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One training step of each model, regrow and PyTorch (Debian's python3-torch, bench/peers) in turn in one run: JSON.

    bench/train/compare.py [MODEL...] [--threads 1 2] [--size medium] [--seconds 10] [--bench build/release/bin/bench_train]

Each side is a process of its own with the same initial values and batches; while one works, the other is stopped. They take turns,
and the speed-up is the median over pairs of turns; memory is the high-water mark (VmHWM) over what a first step at the small size
had left. PyTorch runs on OpenBLAS, or not at all, and in the best of its settings, found before, one after the other: waiting threads
that sleep or spin (OMP_WAIT_POLICY), kernels for AVX2 or AVX-512 (ATEN_CPU_CAPABILITY), and where there are convolutions
channels-last images, and oneDNN or not.
"""
import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile

from turns import Side

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = ["mlp", "cnn", "resnet", "unet", "lstm", "gpt"]
CONVOLUTIONAL = ("cnn", "resnet", "unet")
PEER = os.path.join(HERE, "../peers/train.py")


def has_avx512():
    with open("/proc/cpuinfo") as file:
        return "avx512f" in file.read()


def alternatives(model, threads):
    """What is tried instead of the default, one after the other."""
    if model in CONVOLUTIONAL:
        yield "channels_last", True
        yield "mkldnn", False
    if threads > 1:
        yield "OMP_WAIT_POLICY", "ACTIVE"
    if has_avx512():
        yield "ATEN_CPU_CAPABILITY", "avx512"


class Question:
    def __init__(self, model, threads, arguments, folder):
        self.model, self.threads, self.arguments = model, threads, arguments
        self.start, self.warm = os.path.join(folder, "start"), os.path.join(folder, "warm")
        for path, size, count in ((self.start, arguments.size, arguments.batches), (self.warm, "small", 1)):
            subprocess.run([arguments.bench, model, "--size", size, "--batches", str(count), "--export", path], check=True,
                           stdout=subprocess.DEVNULL)

    def ours(self):
        return Side([self.arguments.bench, self.model, "--size", self.arguments.size, "--threads", str(self.threads), "--batches",
                     str(self.arguments.batches), "--turns"], pinned=self.threads == 1)

    def theirs(self, setting):
        command = ["/usr/bin/python3", PEER, "--start", self.start, "--warm", self.warm, "--threads", str(self.threads), "--turns"]
        command += (["--channels-last"] if setting["channels_last"] else []) + ([] if setting["mkldnn"] else ["--no-mkldnn"])
        variables = {name: value for name, value in setting.items() if name.isupper()}
        side = Side(command, variables, pinned=self.threads == 1)
        if not any("openblas" in name for name in side.about["blas"]):
            side.process.kill()
            sys.exit(f"PyTorch multiplies with {side.about['blas']}: install libopenblas0-pthread, or the comparison is unfair")
        return side

    def best_setting(self):
        """One setting against another, in turn: a machine that is busy for a moment must not decide."""
        best = {"OMP_WAIT_POLICY": "PASSIVE", "ATEN_CPU_CAPABILITY": "avx2", "channels_last": False, "mkldnn": True}
        side = self.theirs(best)
        for name, value in alternatives(self.model, self.threads):
            other = self.theirs({**best, name: value})
            pairs = [(side.steps(1), other.steps(1)) for _ in range(6)][1:]
            if min(new for _, new in pairs) < min(old for old, _ in pairs):
                best, side, other = {**best, name: value}, other, side
            other.end()
        side.end()
        return best

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
                  "torch_setting": setting, **{f"torch_{name}": value for name, value in sides["torch"].about.items()}}
        for name, side in sides.items():
            result[name] = {"seconds_per_step": statistics.median(times[name]), "fastest": min(times[name]), **side.end()}
        result["speedup"] = statistics.median(torch / regrow for regrow, torch in zip(times["regrow"], times["torch"]))
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
        found = results[-1]
        print(f"{model:8} {threads} threads  {1e3 * found['regrow']['seconds_per_step']:8.2f} ms, PyTorch "
              f"{1e3 * found['torch']['seconds_per_step']:8.2f} ms: {found['speedup']:.2f}x;  {found['regrow']['extra_bytes'] >> 20} MiB, "
              f"PyTorch {found['torch']['extra_bytes'] >> 20} MiB: {found['memory_ratio']:.2f}", file=sys.stderr, flush=True)
    speedups = [result["speedup"] for result in results]
    print(json.dumps({"results": results, "geometric_mean_speedup": statistics.geometric_mean(speedups)}, indent=2))


if __name__ == "__main__":
    main()
