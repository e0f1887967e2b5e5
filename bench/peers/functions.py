#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Nanoseconds an element of PyTorch's f32 functions, as bench/kernels/functions.cc times ours: one thread, 16,384 elements, best of 15."""
import json
import os
import time

os.environ["OMP_NUM_THREADS"] = "1"
import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402

torch.set_num_threads(1)
N = 1 << 14
FUNCTIONS = {"exp": torch.exp, "expm1": torch.expm1, "log": torch.log, "log1p": torch.log1p, "sin": torch.sin, "cos": torch.cos,
             "tanh": torch.tanh, "sigmoid": torch.sigmoid, "erf": torch.erf, "gelu": F.gelu,
             "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu}


def measure(function, x):
    best = float("inf")
    out = function(x)
    write = (lambda: function(x, out=out)) if function.__module__ == "torch" else (lambda: function(x))
    for _ in range(15):
        begin, calls = time.thread_time(), 0
        while time.thread_time() - begin < 0.004:
            write()
            calls += 1
        best = min(best, (time.thread_time() - begin) / calls / N)
    return 1e9 * best


step = 16 * (torch.arange(N) + 0.5) / N
print(json.dumps({name: measure(f, step if "log" in name else step - 8) for name, f in FUNCTIONS.items()}, indent=2))
