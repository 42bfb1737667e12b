#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records the learning rates of torch.optim.lr_scheduler, stepped after each step, and writes torch_schedules.json beside this file.

usage: torch_schedules.py    (with PyTorch >= 2.3)
"""
import json
import os

import torch
from torch.optim import lr_scheduler as schedulers

STEPS = 60
BASE = 0.4

# (options of this project's schedule, torch's scheduler)
CASES = [
    ({"kind": "step", "step_size": 7, "gamma": 0.3}, lambda o: schedulers.StepLR(o, 7, 0.3)),
    ({"kind": "cosine"}, lambda o: schedulers.CosineAnnealingLR(o, STEPS)),
    ({"kind": "cosine", "min": 0.01}, lambda o: schedulers.CosineAnnealingLR(o, STEPS, 0.01)),
    ({"kind": "linear", "min": 0.1}, lambda o: schedulers.LinearLR(o, 1, 0.25, STEPS)),
    ({"kind": "cosine-restarts", "restart_steps": 9, "restart_factor": 1}, lambda o: schedulers.CosineAnnealingWarmRestarts(o, 9)),
    ({"kind": "cosine-restarts", "restart_steps": 4, "restart_factor": 2, "min": 0.02}, lambda o: schedulers.CosineAnnealingWarmRestarts(o, 4, 2, 0.02)),
    ({"kind": "cosine-restarts", "restart_steps": 100, "restart_factor": 3}, lambda o: schedulers.CosineAnnealingWarmRestarts(o, 100, 3)),
    ({"kind": "one-cycle"}, lambda o: schedulers.OneCycleLR(o, BASE, total_steps=STEPS, cycle_momentum=False)),
    ({"kind": "one-cycle", "pct_start": 0.125, "div": 10, "final_div": 50},
     lambda o: schedulers.OneCycleLR(o, BASE, total_steps=STEPS, pct_start=0.125, div_factor=10, final_div_factor=50, cycle_momentum=False)),
    ({"kind": "one-cycle", "pct_start": 1}, lambda o: schedulers.OneCycleLR(o, BASE, total_steps=STEPS, pct_start=1.0, cycle_momentum=False)),
    ({"kind": "multi-step", "milestones": [5, 20, 21, 50], "gamma": 0.5}, lambda o: schedulers.MultiStepLR(o, [5, 20, 21, 50], 0.5)),
    ({"kind": "exponential", "step_size": 1, "gamma": 0.95}, lambda o: schedulers.ExponentialLR(o, 0.95)),
    ({"kind": "polynomial"}, lambda o: schedulers.PolynomialLR(o, STEPS, 1)),
    ({"kind": "polynomial", "power": 2.5}, lambda o: schedulers.PolynomialLR(o, STEPS, 2.5)),
]

# (options, values of the evaluations; the rate of the steps behind each of them)
PLATEAUS = [
    ({"factor": 0.1, "patience": 2}, [1, 0.9, 0.95, 0.95, 0.95, 0.95, 0.8, 0.8, 0.8, 0.79995, 0.7999, 0.8, 0.81, 0.7, 0.7]),
    ({"factor": 0.5, "patience": 0}, [1, 1, 0.5, 0.5, 0.49999, float("nan"), 0.3, 0.2, 0.2]),
    ({"factor": 0.3, "patience": 1, "max": True, "min": 0.02}, [0.1, 0.2, 0.2, 0.2, 0.1, 0.1, 0.3, 0.30002, 0.30002, 0.3, 0.3, 0.3, 0.3, 0.3]),
]


def optimizer():
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=BASE)


def rates(make):
    """Returns the rate of each step."""
    sgd = optimizer()
    scheduler = make(sgd)
    found = []
    for step in range(STEPS):
        found.append(sgd.param_groups[0]["lr"])
        sgd.step()
        if step + 1 < STEPS:
            scheduler.step()
    return found


def plateau(options, values):
    sgd = optimizer()
    scheduler = schedulers.ReduceLROnPlateau(sgd, "max" if options.get("max") else "min", options["factor"], options["patience"], min_lr=options.get("min", 0))
    found = []
    for value in values:
        scheduler.step(value)
        found.append(sgd.param_groups[0]["lr"])
    return found


cases = [{**options, "rates": rates(make)} for options, make in CASES]
plateaus = [{**options, "values": [None if v != v else v for v in values], "rates": plateau(options, values)} for options, values in PLATEAUS]
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_schedules.json"), "w") as file:
    file.write('{"base": %s, "steps": %d, "schedules": [\n' % (BASE, STEPS) + ",\n".join(map(json.dumps, cases)) + '\n], "plateaus": [\n' + ",\n".join(map(json.dumps, plateaus)) + "\n]}\n")
