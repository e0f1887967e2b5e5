#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the models of `regrow train` and their twins for PyTorch (Debian's python3-torch) lose the same.

    bench/peers/train.py [MODEL...] [--bench build/release/bin/bench_train] [--size medium] [--steps 20]

Our side writes its initial values and batches; both sides train on them, and the losses of every step are compared. Prints JSON;
exit code 1 if they differ by more than 1e-3, relatively.

    bench/peers/train.py --start FILE [--threads 1] [--channels-last] [--no-mkldnn] [--turns]

is the twin alone: it begins with what FILE holds. With --turns it does what standard input says, as bench_train does.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOLERANCE = 1e-3


def memory(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith(name + ":"))


def blas():
    """Names of the BLAS libraries in this process: Debian's torch takes whatever stands behind libblas.so.3."""
    import torch

    torch.ones(2, 2) @ torch.ones(2, 2)
    with open("/proc/self/maps") as maps:
        files = {os.path.basename(line.split()[-1]) for line in maps if "blas" in line.split()[-1]}
    return sorted(files)


class Twin:
    def __init__(self, path, channels_last):
        import torch
        import models
        import safetensors

        arrays, strings = safetensors.read(path)
        model = strings["model"]
        extent = {name: int(strings[name]) for name in ("width", "depth", "batch", "length", "vocabulary")}
        self.net = models.MODELS[model](extent)
        initial = {name[8:]: torch.from_numpy(array) for name, array in arrays.items() if name.startswith("initial.")}
        missing = self.net.load_state_dict(initial, strict=False)
        unknown = [name for name in missing.missing_keys if not name.endswith("num_batches_tracked")]
        assert not unknown and not missing.unexpected_keys, missing
        self.batches = []
        while f"batch.{len(self.batches)}.0" in arrays:
            step = len(self.batches)
            parts = [torch.from_numpy(arrays[f"batch.{step}.{k}"]) for k in range(8) if f"batch.{step}.{k}" in arrays]
            if channels_last:
                parts = [p.contiguous(memory_format=torch.channels_last) if p.dim() == 4 else p for p in parts]
            self.batches.append(parts)
        if channels_last:
            self.net = self.net.to(memory_format=torch.channels_last)
        self.optimizer = models.optimizer_of(model, self.net.parameters(), float(strings["learning_rate"]))
        self.next = 0

    def step(self):
        loss = self.net(*self.batches[self.next % len(self.batches)])
        self.next += 1
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()


def run_twin(arguments):
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    import torch

    torch.set_num_threads(arguments.threads)
    torch.backends.mkldnn.flags(enabled=not arguments.no_mkldnn).__enter__()
    if not arguments.turns:
        twin = Twin(arguments.start, arguments.channels_last)
        print(json.dumps({"losses": [float(twin.step()) for _ in twin.batches]}))
        return 0
    Twin(arguments.warm or arguments.start, arguments.channels_last).step()
    before = memory("VmRSS")
    twin = Twin(arguments.start, arguments.channels_last)
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")  # forgets the high-water mark so far: of reading the data
    print(json.dumps({"blas": blas(), "version": torch.__version__}), flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        for _ in range(int(line)):
            twin.step()
        print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)
    print(json.dumps({"extra_bytes": memory("VmHWM") - before}), flush=True)
    return 0


def compare(model, arguments):
    with tempfile.TemporaryDirectory() as folder:
        start = os.path.join(folder, "start.safetensors")
        ours = subprocess.run([arguments.bench, model, "--size", arguments.size, "--batches", str(arguments.steps), "--threads",
                               str(arguments.threads), "--export", start], check=True, stdout=subprocess.PIPE)
        theirs = subprocess.run(["/usr/bin/python3", __file__, "--start", start, "--threads", str(arguments.threads)], check=True,
                                stdout=subprocess.PIPE)
    pairs = list(zip(json.loads(ours.stdout)["losses"], json.loads(theirs.stdout)["losses"]))
    worst = max(abs(a - b) / abs(b) for a, b in pairs)
    return {"model": model, "steps": len(pairs), "largest_relative_difference": worst, "agree": worst <= TOLERANCE,
            "first": pairs[0], "last": pairs[-1]}


def main():
    parser = argparse.ArgumentParser(description="Losses of regrow's models and their twins for PyTorch, step by step")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--bench", default=os.path.join(HERE, "../../build/release/bin/bench_train"))
    parser.add_argument("--size", default="medium")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--start", help="the file that the twin begins with")
    parser.add_argument("--warm", help="one to warm up with")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--no-mkldnn", action="store_true", help="without oneDNN")
    parser.add_argument("--turns", action="store_true")
    arguments = parser.parse_args()
    if arguments.start:
        return run_twin(arguments)
    names = arguments.models or ["mlp", "cnn", "resnet", "unet", "lstm", "gpt", "treelstm", "unrolled"]
    table = []
    for name in names:
        table.append(compare(name, arguments))
        print(json.dumps(table[-1]), file=sys.stderr, flush=True)
    print(json.dumps(table, indent=2))
    return 0 if all(row["agree"] for row in table) else 1


if __name__ == "__main__":
    sys.exit(main())
