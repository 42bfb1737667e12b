# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far results may be from float64, and where these bounds come from.

A precision is a relative rounding error u (half an ULP of 1) and an absolute one (half the smallest subnormal). The reference is run again a few times with
every stored value, the cotangent of every use, and every inner step of a norm changed by +-u of itself, at random (inner steps: by the u of fp32); in one of
the runs all of them are rounded to the type itself, and products before their bias is added, in another one the values alone; in two of them the operands of ops that jump (Ceil) are moved up or down by 16 u. What that does to a result is what rounding stored values does to it. FACTOR allows for two facts: a few
draws are not the worst ones, and an op may round a few times inside. Sums are accumulated in fp32: a sum of n terms may lose n*2^-24 of their magnitudes.
That is negligible beside 16-bit roundings. For fp32 the factor grows with the number of elements of the largest tensor, since no sum is longer; it starts at
the error of a sum that is added up as a tree of LANES sums.
"""
import numpy as np
import torch

import reference
import reference_nn  # noqa: F401 (fills the table of ops)
import reference_ops  # noqa: F401
import reference_recurrent  # noqa: F401

FACTOR = 16
LANES = 64
DRAWS = 5
# Each entry is name: (u, half the smallest subnormal, largest finite number).
PRECISIONS = {"fp32": (2.0 ** -24, 2.0 ** -150, 3e38), "fp16": (2.0 ** -11, 2.0 ** -25, 65504.0), "bf16": (2.0 ** -8, 2.0 ** -134, 3e38)}

TYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


class Oracle:
    """The reference results of a graph, and how far other results may be from them."""

    def __init__(self, graph):
        self.graph = graph
        source = reference.NoiseSource()
        self.exact = reference.evaluate(graph, source)
        self.largest, self.largest_cotangent, self.elements = source.largest, source.largest_cotangent, source.elements
        self.deviations = {}

    def finite(self):
        return all(np.all(np.isfinite(v)) for v in self.exact.values())

    def fits(self, precision, scale=1.0):
        """Returns whether values and scaled cotangents stay below half of the storage type's largest number."""
        top = PRECISIONS[precision][2]
        return self.largest < top / 2 and self.largest_cotangent * scale < top / 2

    def deviation(self, precision, scale):
        key = precision, scale
        if key not in self.deviations:
            u, absolute, _ = PRECISIONS[precision]
            worst = {name: 0.0 for name in self.exact}
            for seed in range(DRAWS):
                source = reference.NoiseSource(u, absolute, absolute / scale, seed)
                # One run rounds values as they are stored: what is below the smallest subnormal becomes zero everywhere.
                if seed == 0 and precision in TYPES:
                    source.rounding, source.scale, source.rounds_products = TYPES[precision], scale, True
                # In another one only cotangents change at random, because values that cancel when they are rounded (the variance of equal numbers) hide how
                # large the cotangents are that cancel with them.
                if seed == 4 and precision in TYPES:
                    source.rounding, source.changes_cotangents = TYPES[precision], True
                source.side = {1: 1, 2: -1}.get(seed, 0)
                noisy = reference.evaluate(self.graph, source)
                for name, value in noisy.items():
                    if value.size:
                        with np.errstate(invalid="ignore"):
                            d = float(np.max(np.abs(value - self.exact[name])))
                        worst[name] = max(worst[name], d if d == d else np.inf)
            self.deviations[key] = worst
        return self.deviations[key]

    def least(self, name, precision):
        """Returns the error that is allowed in any case. It is cheap, because it needs no further run of the reference."""
        u, absolute, _ = PRECISIONS[precision]
        value = self.exact[name]
        return 4 * u * float(np.max(np.abs(value))) + 4 * absolute if value.size else 0.0

    def allowed(self, name, precision, scale):
        """Returns the largest error that an element of this tensor may have."""
        allowed = self.least(name, precision) + FACTOR * self.deviation(precision, scale)[name]
        if precision != "fp32":
            return allowed
        # Noise leaves a loss of equal numbers that no value moves (the logits are 0) as it is. A sum of n terms of one sign, one after the other, may be wrong by n * u of it (Higham 2002, section 4.2).
        longest = PRECISIONS[precision][0] * self.elements * float(np.max(np.abs(self.exact[name]))) if name == "loss" else 0.0
        return max(allowed * (1 + self.elements / LANES), longest)

    def compare(self, tensors, precisions, scale=1.0, training=True):
        """Returns sentences about what is wrong with these results, and none when all of them are within bounds. `precisions` names one type or several to
        which values are rounded: f16 has more digits than bf16 and loses small numbers that bf16 keeps."""
        said = []
        for name, want in self.exact.items():
            if name not in tensors:
                if training and (name == "loss" or (name.startswith("grad/") and np.any(want))):
                    said.append(f"{kind(name)} is missing")
                continue
            got = tensors[name]
            if got.shape != want.shape and got.size != want.size:
                said.append(f"{kind(name)} has shape {got.shape}, not {want.shape}")
                continue
            got = got.reshape(want.shape)
            if not got.size:
                continue
            with np.errstate(invalid="ignore"):
                error = float(np.max(np.abs(got - want)))
            if error <= self.least(name, precisions[-1]):
                continue
            allowed = max(self.allowed(name, precision, scale) for precision in precisions)
            if not np.isfinite(error) and allowed >= float(np.max(np.abs(want))):
                continue  # rounding decides about the whole result: a difference that is close to 0 may become 0, and its reciprocal infinite
            if not error <= allowed:
                where = int(np.argmax(np.where(np.isfinite(got), np.abs(got - want), np.inf)))
                said.append(f"{kind(name)} is wrong|{name}: {got.reshape(-1)[where]!r} instead of {want.reshape(-1)[where]!r}, allowed error {allowed:.3g}")
        return said


def kind(name):
    return "a gradient" if name.startswith("grad/") else "the loss" if name == "loss" else "an output"
