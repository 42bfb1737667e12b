#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the data of a character model from a text: windows as `inputs` int64 [N,T], and as `labels` int64 [N,T] the character after each.

A character's number is its position in the sorted list of the text's characters. The last part of the text is for validation.
"""
import argparse

import numpy as np


def windows(ids, length, stride):
    """Returns inputs and labels [N, length] of the windows that begin every `stride` characters."""
    starts = np.arange(0, len(ids) - length, stride)
    take = starts[:, None] + np.arange(length)
    return {"inputs": ids[take], "labels": ids[take + 1]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", help="a text file in UTF-8")
    parser.add_argument("train", help="npz to write")
    parser.add_argument("val", help="npz to write for validation")
    parser.add_argument("--length", type=int, default=64, help="characters of a window (64)")
    parser.add_argument("--stride", type=int, help="characters from window to window (default: the length, so that no two overlap)")
    parser.add_argument("--val-part", type=float, default=0.1, help="part of the text for validation (0.1)")
    options = parser.parse_args()
    with open(options.text, encoding="utf-8", newline="") as file:
        text = file.read()
    alphabet = sorted(set(text))
    number = {character: i for i, character in enumerate(alphabet)}
    ids = np.array([number[character] for character in text], np.int64)
    stride, split = options.stride or options.length, int(len(ids) * (1 - options.val_part))
    for path, part, step in ((options.train, ids[:split], stride), (options.val, ids[split:], options.length)):
        arrays = windows(part, options.length, step)
        if not len(arrays["inputs"]):
            parser.error(f"{options.text}: {len(part)} characters for {path} are fewer than a window of {options.length} and its last label")
        np.savez(path, **arrays)
        print(f"{path}: {len(arrays['inputs'])} windows of {options.length} characters")
    print(f"vocabulary: {len(alphabet)} characters")


if __name__ == "__main__":
    main()
