#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the state of a training that runs on the host and on an emulated GPU: skipped steps and checkpoints.

usage: state.py WORK_DIR
"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import programs  # noqa: E402

EMULATOR = ("--device=emulator", "--arch=sm_80")


def near(a, b):
    """Returns whether two states agree as fp16 compute lets them: they may differ by a few of its roundings after a few steps."""
    return all(np.allclose(a[k], b[k], rtol=2e-2, atol=2e-3) for k in a if k)


def main():
    work = sys.argv[1]
    os.makedirs(work, exist_ok=True)
    model = programs.convnet(os.path.join(work, "convnet.onnx"))
    data = programs.convnet_data(os.path.join(work, "data.npz"))
    program = programs.compile(model, os.path.join(work, "program"), "--target=host,sm_80,emulator", "--precision=fp16", "--opt-level=O2",
                               "--loss=softmax_cross_entropy:logits:labels", "--optimizer=sgd", "--momentum=0.9", "--lr=0.05", "--init-scale=1024")

    def train(folder, steps, *options):
        return programs.train(program, data, steps, os.path.join(work, folder), "--checkpoint-every", "2", *options)

    # The third batch has an infinity: both devices skip that step, halve the scale and go on alike.
    host, host_state = train("host", 6, "--inject-inf=3")
    gpu, gpu_state = train("gpu", 6, "--inject-inf=3", *EMULATOR)
    for key in ("scale", "skipped"):
        assert [line[key] for line in host] == [line[key] for line in gpu], (key, host, gpu)
    assert [bool(line["skipped"]) for line in gpu] == [False, False, True, False, False, False], gpu
    assert near(host_state, gpu_state), "states after training differ"

    # Four steps on the host and two more on the GPU agree with six steps on the GPU, so the state carries over.
    train("moved", 4)
    _, moved = train("moved", 6, "--resume", *EMULATOR)
    _, straight = train("straight", 6, *EMULATOR)
    assert moved.keys() == straight.keys()
    assert near(moved, straight), "a checkpoint of the host does not go on on the GPU"

    # A training on the GPU that is resumed also ends with the same bits.
    train("resumed", 4, *EMULATOR)
    _, resumed = train("resumed", 6, "--resume", *EMULATOR)
    assert not programs.same(straight, resumed), programs.same(straight, resumed)
    print("ok")


if __name__ == "__main__":
    main()
