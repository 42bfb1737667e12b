#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The differential fuzzer: it takes random typed ONNX graphs through import, gradients, the evaluator, every stage of the host's plan, and compiled programs,
and compares the results with torch in float64. A graph is a function of its seed. The fuzzer needs torch (a CPU build is enough), numpy and onnx, and takes
minutes or hours, as --count says.

    fuzz.py --build build --count 20000 --compiled 0.2 --out build/differential
    fuzz.py --build build --count 1000 --scans              graphs that have a Scan each
    fuzz.py --build build --count 300 --recurrent           graphs that have an RNN, GRU or LSTM each
    fuzz.py --build build --count 1000 --movement           graphs that have a chain of Concat, Slice, Pad and Split each
    fuzz.py --build build --seed 4711                       one graph, everything

Faults are shrunk and saved under --out, in one folder for each distinct fault: graph.json, model.onnx, data.npz, and reason.txt with the seed.
"""
import argparse
import json
import os
import random
import sys
import tempfile
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
try:
    import torch
except ImportError:
    print("error: fuzz.py: Python has no torch\nhint: pip install torch, in the Python that runs this", file=sys.stderr)
    sys.exit(1)

from bounds import Oracle  # noqa: E402
from checks import Fault, evaluation, examine, program  # noqa: E402
from generate import generate  # noqa: E402
from graph import Graph  # noqa: E402
from programs import examine_programs  # noqa: E402
from shrink import shrink  # noqa: E402
from worker import Worker  # noqa: E402

TAIL = {"Constant", "Identity"}


def work_for(seed, compiled, everything=False):
    """Returns the work that is done with a seed's graph, and whether the graph is compiled."""
    rng = random.Random(seed)
    level = rng.choice(["O1", "O1", "O2", "O3"])
    low = rng.choice(["fp16", "fp16", "bf16"])
    work = [evaluation("autodiff"), evaluation("planned"), evaluation("planned", low, "rounded", level)]
    runs = everything or rng.random() < compiled
    if runs:
        work += [program("fp32"), program("fp16", level)]
    if everything or rng.random() < 0.05:
        work.append({"kind": "check"})
    if everything or rng.random() < 0.1:
        work.append({"kind": "forward", "at": rng.choice(["simplify", "planned"])})
    return work, runs


class Campaign:
    def __init__(self, arguments):
        self.arguments, self.folder = arguments, tempfile.TemporaryDirectory(prefix="mpc-diff-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
        self.worker = Worker(os.path.join(arguments.build, "bin", "mpc-differential"), self.folder.name)
        self.refused, self.found = {}, {}
        self.counts = {"graphs": 0, "compiled": 0, "programs": 0, "no graph": 0, "refused": 0, "faults": 0}
        os.makedirs(arguments.out, exist_ok=True)

    def run(self, seed):
        graph = generate(seed, self.arguments.must_have)
        if graph is None:
            self.counts["no graph"] += 1
            return []
        work, compiled = work_for(seed, self.arguments.compiled, self.arguments.seed is not None)
        before = sum(self.refused.values())
        try:
            oracle = Oracle(graph)
        except RuntimeError as error:
            self.report(graph, seed, work, Fault("generator", "the reference fails", str(error)[:200]))
            return []
        try:
            faults = examine(graph, self.worker, work, self.refused, oracle)
        except RuntimeError as error:
            faults = [Fault("generator", "the reference fails under noise", str(error)[:200])]
        refused = sum(self.refused.values()) > before
        if not faults and not refused and random.Random(~seed).random() < self.arguments.programs:
            faults = self.programs(graph, oracle, seed)
        self.counts["refused"] += refused
        if not refused:
            self.counts["graphs"] += 1
            self.counts["compiled"] += compiled
        seen = set()
        for fault in faults:
            # Only the first stage that shows a fault reports it.
            if (fault.what, fault.stage.split()[0]) not in seen:
                seen.add((fault.what, fault.stage.split()[0]))
                self.report(graph, seed, work, fault)
        return faults

    def programs(self, graph, oracle, seed):
        """Takes the graph through mpc's commands; every second graph runs on the emulated GPU."""
        rng = random.Random(seed)
        self.counts["programs"] += 1
        folder = os.path.join(self.folder.name, "programs")
        os.makedirs(folder, exist_ok=True)
        return examine_programs(graph, oracle, self.arguments.build, folder, rng.choice(["fp32", "fp16", "bf16"]), rng.choice(["O1", "O2"]), rng.random() < 0.5)

    def report(self, graph, seed, work, fault):
        self.counts["faults"] += 1
        ops = {n.op for n in graph.nodes}
        for key, entry in self.found.items():
            if entry["what"] == fault.what and entry["stage"] == fault.stage and entry["exact"] == fault.detail.split(":")[0] and set(entry["ops"]) <= ops:
                entry["count"] += 1
                return
            if entry["what"] == fault.what and set(entry["ops"]) <= ops and entry["family"] == fault.stage.split()[0]:
                entry["count"] += 1
                return
        own = [w for w in work if str(fault).startswith(stage(w))] or work

        def shows(small):
            try:
                return any(f.what == fault.what and f.stage == fault.stage for f in examine(small, self.worker, own))
            except Exception:  # the reference cannot evaluate the smaller graph
                return False
        known_hangs = fault.what.startswith("hangs") and sum(e["what"] == fault.what for e in self.found.values()) >= 3
        if known_hangs:
            return
        in_process = not fault.stage.startswith(("program", "generator"))
        small = shrink(graph, shows, self.arguments.shrink_seconds) if self.arguments.shrink_seconds and in_process else graph
        detail = next((f for f in examine(small, self.worker, own) if f.what == fault.what), fault) if small is not graph else fault
        key = f"{len(self.found):03d}-{'-'.join(sorted({n.op for n in small.nodes} - TAIL))[:60]}"
        self.found[key] = {"seed": seed, "stage": fault.stage, "family": fault.stage.split()[0], "what": fault.what, "detail": str(detail), "exact": fault.detail.split(":")[0],
                           "ops": sorted({n.op for n in small.nodes} - {"Constant", "Mul", "ReduceSum", "Identity"}), "count": 1, "work": own}
        folder = os.path.join(self.arguments.out, key)
        os.makedirs(folder, exist_ok=True)
        small.save(os.path.join(folder, "model.onnx"), os.path.join(folder, "data.npz"))
        with open(os.path.join(folder, "graph.json"), "w") as file:
            file.write(small.to_json())
        with open(os.path.join(folder, "reason.txt"), "w") as file:
            nodes = "\n".join(f"  {n.op} {n.inputs} -> {n.outputs} {n.attributes}" for n in small.nodes)
            shapes = {n: (small.types[n], list(v.shape)) for g in (small.inputs, small.initializers, small.targets) for n, v in g.items()}
            file.write(f"seed {seed}\n{detail}\nopset {small.opset}, --loss '{small.loss_option()}' --trainable '^p[0-9]+$'\n{shapes}\n{nodes}\nwork {json.dumps(own)}\n")
        print(f"FOUND {key} seed {seed}: {detail}", flush=True)

    def summary(self, seconds):
        lines = [", ".join(f"{n} {what}" for what, n in self.counts.items()) + f"; {seconds:.0f} s"]
        lines += [f"  refused {n} times: {m}" for m, n in sorted(self.refused.items(), key=lambda item: -item[1])]
        lines += [f"  {e['count']} x {key} [{e['stage']}] {e['detail']} (seed {e['seed']})" for key, e in self.found.items()]
        return "\n".join(lines)


def stage(work):
    from checks import stage_name
    return stage_name(work)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", required=True, type=os.path.abspath, help="build folder")
    parser.add_argument("--out", default="differential", help="folder for what is found")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many seeds")
    parser.add_argument("--compiled", type=float, default=0.2, help="share that is compiled and run, too")
    parser.add_argument("--programs", type=float, default=0.005, help="share that goes through the commands, on the host or the emulated GPU")
    family = parser.add_mutually_exclusive_group()
    for option, kind, what in (("--scans", "scan", "a Scan"), ("--recurrent", "recurrent", "an RNN, GRU or LSTM"), ("--movement", "movement", "a chain of Concat, Slice, Pad and Split")):
        family.add_argument(option, dest="must_have", action="store_const", const=kind, default="", help=f"each graph has {what}")
    parser.add_argument("--seed", type=int, help="this one graph, everything")
    parser.add_argument("--graph", help="a graph.json that was saved, everything")
    parser.add_argument("--shrink-seconds", type=float, default=15, help="for each fault; 0: do not")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    campaign, start = Campaign(arguments), time.monotonic()
    if arguments.graph:
        with open(arguments.graph) as file:
            graph = Graph.from_json(file.read())
        faults = examine(graph, campaign.worker, [w for level in ("O1", "O2") for w in work_for(0, 1, True)[0]] + [program("fp16", "O2")])
        print("\n".join(map(str, faults)) or "no fault")
        sys.exit(1 if faults else 0)
    if arguments.seed is not None:
        campaign.run(arguments.seed)
    else:
        for seed in range(arguments.first, arguments.first + arguments.count):
            campaign.run(seed)
            if (seed - arguments.first) % 500 == 499:
                print(campaign.summary(time.monotonic() - start).splitlines()[0], flush=True)
                write(campaign, start)
    campaign.worker.stop()
    write(campaign, start)
    print(campaign.summary(time.monotonic() - start))
    sys.exit(1 if campaign.found else 0)


def write(campaign, start):
    with open(os.path.join(campaign.arguments.out, "summary.txt"), "w") as file:
        file.write(campaign.summary(time.monotonic() - start) + "\n")


if __name__ == "__main__":
    main()
