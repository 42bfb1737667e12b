#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes recorded.json for recorded_test.py, which needs no torch: graphs of the fuzzer that together hold every op it knows, torch's results in float64, and how far
other results may be from them. Prints the number of graphs.

    record.py [--seeds 6000] [graph.json ...]      graphs that must be among them: shrunk ones of faults that were found
    record.py --scans 5000 5001                    adds the graphs of these seeds, which have a Scan each, to those that are recorded already
    record.py --more 5000 5001                     adds the graphs of these seeds
    record.py --recurrent 7                        does so for graphs with an RNN, GRU or LSTM each
"""
import argparse
import json
import os

import numpy as np

from bounds import Oracle
from checks import SCALE, precisions_of
from generate import generate
from graph import Graph

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded.json")
LARGEST = 4000  # most characters that a graph may have
PRECISIONS = {"fp32": 1.0, "fp16": SCALE}


def recorded(graph, name):
    """Returns a case, or None where a result or its 16-bit form is not finite."""
    oracle = Oracle(graph)
    case = {"name": name, "graph": json.loads(graph.to_json()), "expected": {}, "allowed": {}}
    for precision, scale in PRECISIONS.items():
        bounds = precisions_of(graph, {"precision": precision})
        if not oracle.finite() or not all(oracle.fits(p, scale) for p in bounds):
            return None
        case["allowed"][precision] = {n: float(f"{max(oracle.allowed(n, p, scale) for p in bounds):.3g}") for n in oracle.exact}
    for n, value in oracle.exact.items():
        case["expected"][n] = {"shape": list(value.shape), "values": [float(f"{v:.12g}") for v in np.ravel(value)]}
    return case


def write(cases):
    with open(RECORDED, "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(c) for c in cases if c) + "\n]\n")


def add(graphs):
    with open(RECORDED) as file:
        cases = json.load(file)
    names = {case["name"] for case in cases}
    made = [recorded(graph, name) for name, graph in graphs if graph and name not in names]
    write(cases + made)
    print(f"{sum(case is not None for case in made)} graphs added, {len(cases)} were there")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=6000)
    parser.add_argument("--scans", type=int, nargs="+", default=[])
    parser.add_argument("--more", type=int, nargs="+", default=[])
    parser.add_argument("--recurrent", type=int, nargs="+", default=[])
    parser.add_argument("graphs", nargs="*")
    arguments = parser.parse_args()
    if arguments.more:
        return add([(f"seed-{seed}", generate(seed)) for seed in arguments.more])
    if arguments.scans or arguments.recurrent:
        return add([(f"{kind}-{seed}", generate(seed, kind)) for kind, seeds in (("scan", arguments.scans), ("recurrent", arguments.recurrent)) for seed in seeds])
    cases, seen = [], set()
    for path in arguments.graphs:
        with open(path) as file:
            graph = Graph.from_json(file.read())
        cases.append(recorded(graph, os.path.basename(os.path.dirname(path))))
        seen |= {n.op for n in graph.nodes}
    for seed in range(arguments.seeds):
        graph = generate(seed)
        if graph is None or graph.extreme or not graph.inputs:
            continue
        ops = {n.op for n in graph.nodes}
        if not ops - seen or len(graph.to_json()) > LARGEST:
            continue
        case = recorded(graph, f"seed-{seed}")
        if case and any(np.any(v["values"]) for n, v in case["expected"].items() if n.startswith("grad/")):
            cases.append(case)
            seen |= ops
    write(cases)
    print(f"{len(cases)} graphs with {len(seen)} ops")


if __name__ == "__main__":
    main()
