#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records what torch.amp.GradScaler does for a list of overflow patterns and writes torch_scaler.json beside this file.

usage: torch_scaler.py    (with PyTorch >= 2.3)
"""
import json
import os

import torch

PATTERNS = ["00000000", "11110000", "01010101", "0010001100000", "10000001", "0001000100010000", "110100100010000100000"]
SETTINGS = [dict(init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=3),
            dict(init_scale=1024.0, growth_factor=2.0, backoff_factor=0.25, growth_interval=1),
            dict(init_scale=3.0, growth_factor=1.5, backoff_factor=0.3, growth_interval=2)]


def sequence(pattern, settings):
    """Returns the scale before each step, and then the one after the last step."""
    scaler = torch.amp.GradScaler("cpu", **settings)
    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([parameter], lr=0.125)
    scales = []
    for overflow in pattern:
        scale = scaler.scale(torch.ones(()))
        scales.append(scaler.get_scale())
        parameter.grad = torch.full((3,), float("inf") if overflow == "1" else 1.0) * scale
        scaler.step(optimizer)
        scaler.update()
    return scales + [scaler.get_scale()]


cases = [{"settings": s, "pattern": p, "scales": sequence(p, s)} for s in SETTINGS for p in PATTERNS]
with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_scaler.json"), "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")
