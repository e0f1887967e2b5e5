#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a memory budget costs in training: a step in a budget and one without, in turn, of the same engine. Prints JSON.

    bench/budget/measure.py [MODEL...] [--ratios 0.5 0.3] [--threads 2] [--plot FILE.svg] [--bin build/release/bin]

Budgets are parts of the model's own peak without one, measured first; after those that were asked for come max(0.2, 1.2 x floor), one that
does not bind, and for some models the first ones with a spill directory. In each a process of its own first runs alone, so that replay
finds its settings; then it and the unlimited one take turns of equally many steps, five pairs, one stopped while the other works.
`overhead` is the median over the pairs; `operator_overhead` is recomputation over the time of operators that ran first, in those
turns (by every other step, which is recorded), and `plan_overhead` what `regrow plan` says of the last step that was recorded.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../train"))
from plot import svg  # noqa: E402
from turns import Side  # noqa: E402

BATCH = {"resnet": 32, "gpt": 8, "lstm": 16, "treelstm": 64, "unet": 32, "cnn": 64}  # of the medium size: steps of some 0.2 s
SPILLED = ("resnet", "unet")
UNBOUND = 1.25  # of the peak: pages and slabs fit as well
MIB = 1 << 20


def goal(model, ratio, spilled):
    if ratio >= 1:
        return 0.02
    if ratio not in (0.5, 0.3) or model == "cnn":
        return None
    if spilled:
        return 0.05 if ratio == 0.5 else 0.15
    if model == "unet":
        return 0.15 if ratio == 0.5 else 0.4
    return 0.1 if ratio == 0.5 else 0.25


class Measurement:
    """Of one model."""

    def __init__(self, model, arguments, folder):
        self.model, self.arguments, self.folder = model, arguments, folder
        self.unlimited = self.side([])
        self.unlimited.steps(2 * arguments.batches)
        self.peak = self.unlimited.ask("report")["peak_bytes"]
        step = self.unlimited.steps(arguments.batches)
        cycles = 1 if arguments.smoke else max(1, round(0.5 / step / arguments.batches))
        self.count = cycles * arguments.batches  # steps of a turn, of about half a second
        self.floor = None

    def side(self, options):
        size = ["--size", "small"] if self.arguments.smoke else ["--batch", str(BATCH[self.model])]
        return Side([os.path.join(self.arguments.bin, "bench_train"), self.model, *size, "--dropout", "--turns", "--threads",
                     str(self.arguments.threads), "--batches", str(self.arguments.batches), *options])

    def results(self):
        ratios = [float(ratio) for ratio in self.arguments.ratios]
        for ratio in ratios:
            yield self.result(ratio, False)
        if self.arguments.smoke:
            yield self.result(ratios[0], True)
            return
        if self.floor:
            yield self.result(max(0.2, 1.2 * self.floor / self.peak), False)
        yield self.result(UNBOUND, False)
        if self.model in SPILLED:
            for ratio in ratios:
                yield self.result(ratio, True)

    def result(self, ratio, spilled):
        budget = int(ratio * self.peak)
        trace = os.path.join(self.folder, "trace")
        result = {"model": self.model, "ratio": ratio, "spill": spilled, "budget_bytes": budget, "peak_bytes": self.peak,
                  "goal": goal(self.model, ratio, spilled)}
        limited = None
        try:
            limited = self.side(["--budget", str(budget), "--trace", trace] + (["--spill", self.folder] if spilled else []))
            result.update(self.compare(limited))
        except RuntimeError as error:
            return {**result, "error": str(error)}
        finally:
            if limited:
                limited.process.kill()
                limited.process.wait()
        if not spilled:
            result.update(self.plan(trace, budget))
        return result

    def compare(self, limited):
        limited.steps(self.arguments.warm)
        alone = limited.ask("report")
        pairs = [(self.unlimited.steps(self.count), limited.steps(self.count)) for _ in range(self.arguments.pairs)]
        end = limited.end()
        self.floor = end["floor_bytes"]
        steps = self.count * len(pairs)
        spent = {key: end[key] - alone[key]
                 for key in ("seconds", "operator_seconds", "recorded_steps", "recompute_seconds", "decision_seconds", "stall_seconds",
                             "evictions", "recomputed_ops", "spilled_bytes")}
        return {
            "unlimited_seconds_per_step": statistics.median(unlimited for unlimited, _ in pairs),
            "seconds_per_step": statistics.median(seconds for _, seconds in pairs),
            "overhead": statistics.median(seconds / unlimited for unlimited, seconds in pairs) - 1,
            "pairs": [round(seconds / unlimited - 1, 4) for unlimited, seconds in pairs],
            "steps": steps,
            "operator_overhead": spent["recompute_seconds"] / steps / (spent["operator_seconds"] / spent["recorded_steps"]),
            "evictions_per_step": spent["evictions"] / steps,
            "recomputed_ops_per_step": spent["recomputed_ops"] / steps,
            "spilled_bytes_per_step": spent["spilled_bytes"] / steps,
            "stall_share": spent["stall_seconds"] / spent["seconds"],
            "decision_share": spent["decision_seconds"] / spent["seconds"],
            "decision_us_per_eviction": 1e6 * spent["decision_seconds"] / spent["evictions"] if spent["evictions"] else None,
            "decision_us_median": end["decision_us_median"],
            "decision_us_p99": end["decision_us_p99"],
            "replay_installed_step": alone["replay_installed_step"],
            "replay_cpu_share": alone["replay_cpu_share"],
            "floor_bytes": self.floor,
            "committed_bytes": end["committed_bytes"],
            "beyond_budget_bytes": end["process_bytes"] - end["budget_bytes"],
        }

    def plan(self, trace, budget):
        answer = os.path.join(self.folder, "plan.json")
        subprocess.run([os.path.join(self.arguments.bin, "regrow"), "plan", trace, "--budget", str(budget), "--json", answer],
                       check=True, stdout=subprocess.DEVNULL)
        with open(answer) as file:
            found = json.load(file)["results"][0]
        return {"plan_overhead": found["overhead"], "plan_search_seconds": found["search_seconds"], "lower_bound": found["lower_bound"]}


def percent(share):
    return "-" if share is None else f"{100 * share:.1f} %"


def line(result):
    start = f"{result['model']:9}{result['ratio']:5.2f}{' spill' if result['spill'] else '      '}"
    if "error" in result:
        return f"{start} {result['error']}"
    return (f"{start} {1e3 * result['unlimited_seconds_per_step']:7.1f} ms -> {1e3 * result['seconds_per_step']:7.1f} ms: "
            f"{percent(result['overhead']):>7} (goal {percent(result['goal'])}), operators {percent(result['operator_overhead'])} "
            f"(plan {percent(result.get('plan_overhead'))}), decisions {percent(result['decision_share'])}, "
            f"{result['decision_us_per_eviction'] or 0:.2f} us an eviction ({result['decision_us_median']:.2f} the choice), "
            f"tuned at step {result['replay_installed_step']}, {result['beyond_budget_bytes'] // MIB} MiB beyond")


def main():
    parser = argparse.ArgumentParser(description="Training steps in a memory budget and without one, in turn")
    parser.add_argument("models", nargs="*", default=list(BATCH))
    parser.add_argument("--ratios", nargs="+", default=["0.5", "0.3"], help="budgets, as parts of the peak without one")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--batches", type=int, default=5, help="different ones, used in turn; odd, since every other step is recorded")
    parser.add_argument("--warm", type=int, default=30, help="steps that a process in a budget runs alone before it is measured")
    parser.add_argument("--pairs", type=int, default=5, help="of turns")
    parser.add_argument("--folder", help="for traces and spill files: on a disk, not in memory")
    parser.add_argument("--bin", default=os.path.join(HERE, "../../build/release/bin"))
    parser.add_argument("--plot", help="write overhead against budget there, as SVG")
    parser.add_argument("--smoke", action="store_true", help="small models, few steps: to see that it runs")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.batches, arguments.warm, arguments.pairs = 3, 6, 1
    results = []
    for model in arguments.models:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            measurement = Measurement(model, arguments, folder)
            try:
                for result in measurement.results():
                    results.append(result)
                    print(line(result), file=sys.stderr, flush=True)
            finally:
                measurement.unlimited.process.kill()
                measurement.unlimited.process.wait()
    print(json.dumps({"threads": arguments.threads, "results": results}, indent=2))
    if arguments.plot:
        with open(arguments.plot, "w") as file:
            file.write(svg(results))
    return 1 if any("error" in result for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
