# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic of boxes as ONNX nodes (opset 17): overlaps, matching, encoding, sampling and losses of detectors. All shapes are constant but for the batch.

A box is x1,y1,x2,y2 in pixels. Sizes in the comments: B pictures, M true boxes of a picture (padding included), A anchors or proposals. Thresholds, codes and ties are
those of torchvision.models.detection (`_utils.py`, `rpn.py`, `ssd.py`), which differ from the papers where the comments say so.
"""
import math

import numpy as np
from onnx import TensorProto, numpy_helper

SIZE_LIMIT = math.log(1000 / 16)  # bounds a code of a width or height in front of the exponential
TINY = 1e-6  # pixels, or square pixels; a divisor or logarithm of padding is not zero


class Formula:
    """Writes arithmetic as nodes with numbered names. An operand is the name of a value, or a number or array, which becomes a Constant node. (An initializer could be
    taken for a parameter that is trained.)"""

    def __init__(self, net, prefix):
        self.net, self.prefix, self.count = net, prefix, 0

    def scope(self, prefix):
        """Returns a formula whose names begin with another prefix."""
        return Formula(self.net, prefix)

    def __call__(self, op, *operands, to=None, outputs=1, **attributes):
        """Adds a node. to: the name of its result, if it matters (so the type of a Cast is `type`). Returns the name of the result, or a list of `outputs` names."""
        self.count += 1
        name = to or f"{self.prefix}.{op.lower()}{self.count}"
        names = [name] + [f"{name}.{i}" for i in range(1, outputs)]
        if op == "Cast":
            attributes = {"to": attributes["type"]}
        self.net.node(op, [self.operand(x) for x in operands], names, **attributes)
        return name if outputs == 1 else names

    def operand(self, x):
        """Floats become float32, ints int64; an array keeps its type unless it is float64."""
        if isinstance(x, str):
            return x
        array = np.asarray(x, np.float32 if np.asarray(x).dtype == np.float64 else None)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self.net.shared:
            name = f"constant{len(self.net.shared)}"
            self.net.shared[key] = self.net.node("Constant", [], name, value=numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name))
        return self.net.shared[key]

    def number(self, x):
        """Makes float32 of truth values or integers."""
        return self("Cast", x, type=TensorProto.FLOAT)

    def integer(self, x):
        return self("Cast", x, type=TensorProto.INT64)

    def sum(self, x, axes, keepdims=0, to=None):
        return self("ReduceSum", x, np.asarray(axes, np.int64), keepdims=keepdims, to=to)

    def largest(self, x, axis, keepdims=0):
        return self("ReduceMax", x, axes=[axis], keepdims=keepdims)

    def unsqueeze(self, x, axis):
        return self("Unsqueeze", x, [axis])

    def reshape(self, x, *shape, to=None):
        return self("Reshape", x, list(shape), to=to)

    def cut(self, x, start, end, axis):
        return self("Slice", x, [start], [end], [axis])

    def top(self, x, count):
        """Returns the `count` largest of each row of [B,A], largest first, and their places; of equal ones the first come first."""
        return self("TopK", x, [count], outputs=2, axis=-1)

    def rows(self, x, places, to=None):
        """Takes rows `places` [B,S] of x [B,A,...]; of a place [B] in x [B,A,...] one row."""
        return self("GatherND", x, self.unsqueeze(places, -1), to=to, batch_dims=1)

    def stop(self, x):
        """Ends the gradient at x."""
        self.count += 1
        return self.net.stop_gradient(x, f"{self.prefix}.stop{self.count}")


def centres(f, boxes):
    """Returns centres and sizes, [...,2] each, of boxes [...,4]."""
    low, high = f("Split", boxes, outputs=2, axis=-1)
    sizes = f("Sub", high, low)
    return f("Add", low, f("Mul", sizes, 0.5)), sizes


def encode(f, truths, anchors, weights, to=None):
    """Returns what a network is to say of an anchor (Girshick et al. 2014, arXiv:1311.2524, appendix C), times weights: distance of centres in sizes of the anchor, and the
    logarithm of the ratio of sizes. All are [...,4]; boxes without extent give finite numbers."""
    (centre, size), (anchor_centre, anchor_size) = centres(f, truths), centres(f, anchors)
    anchor_size = f("Max", anchor_size, TINY)
    moved = f("Div", f("Mul", f("Sub", centre, anchor_centre), np.array(weights[:2], np.float32)), anchor_size)
    grown = f("Mul", f("Log", f("Div", f("Max", size, TINY), anchor_size)), np.array(weights[2:], np.float32))
    return f("Concat", moved, grown, to=to, axis=-1)


def decode(f, codes, anchors, weights, side, to=None):
    """Returns the boxes that codes [...,4] say of anchors, clipped to a picture of `side` pixels."""
    moved, grown = f("Split", f("Div", codes, np.array(weights, np.float32)), outputs=2, axis=-1)
    centre, size = centres(f, anchors)
    centre = f("Add", f("Mul", moved, size), centre)
    half = f("Mul", f("Mul", f("Exp", f("Min", grown, SIZE_LIMIT)), size), 0.5)
    return f("Clip", f("Concat", f("Sub", centre, half), f("Add", centre, half), axis=-1), 0.0, float(side), to=to)


def overlaps(f, truths, labels, boxes):
    """Returns [B,M,A]: intersection over union of true boxes [B,M,4] and boxes [B,A,4] or [1,A,4]; -1 in rows of padding."""
    x1, y1, x2, y2 = f("Split", truths, outputs=4, axis=-1)
    u1, v1, u2, v2 = f("Split", f("Transpose", boxes, perm=[0, 2, 1]), outputs=4, axis=1)
    width = f("Max", f("Sub", f("Min", x2, u2), f("Max", x1, u1)), 0.0)
    height = f("Max", f("Sub", f("Min", y2, v2), f("Max", y1, v1)), 0.0)
    common = f("Mul", width, height)
    areas = f("Add", f("Mul", f("Sub", x2, x1), f("Sub", y2, y1)), f("Mul", f("Sub", u2, u1), f("Sub", v2, v1)))
    ratio = f("Div", common, f("Max", f("Sub", areas, common), TINY))
    return f("Where", f.unsqueeze(real(f, labels), 2), ratio, -1.0)


def real(f, labels):
    """Says which true boxes [B,M] are no padding."""
    return f("GreaterOrEqual", labels, 0)


def best_truth(f, ratios):
    """Returns the largest overlap of each of A boxes, and the number of the true box (the first one with that overlap): [B,A] each."""
    return f.largest(ratios, 1), f("ArgMax", ratios, axis=1, keepdims=0)


def truths_of(f, truths, labels, match):
    """Returns boxes [B,A,4] and labels [B,A] of the true boxes with numbers `match` [B,A]."""
    return f.rows(truths, match), f.rows(labels, match)


def smooth_l1(f, predicted, target, beta):
    """Returns the smooth L1 loss of each number: d^2 / (2 beta) where |d| < beta, else |d| - beta / 2."""
    distance = f("Abs", f("Sub", predicted, target))
    near = f("Mul", f("Mul", distance, distance), 0.5 / beta)
    return f("Where", f("Less", distance, beta), near, f("Sub", distance, 0.5 * beta))


def masked_sum(f, mask, x, to=None):
    """Returns the sum over all pictures of x [B,A] where the mask says so; what is not chosen may be anything."""
    return f.sum(f("Where", mask, x, 0.0), [0, 1], to=to)


def count(f, mask):
    """Returns how many of a mask [B,A] are true, but at least 1: a divisor."""
    return f("Max", f.sum(f.number(mask), [0, 1]), 1.0)


def sample(f, positive, negative, size, most):
    """Draws `size` of A boxes of each picture: positive ones, at most `most`, and negative ones for the rest (Ren et al. 2015, section 3.1.3).

    positive, negative: truth values [B,A] that exclude each other. Returns the places of what is drawn [B,size], positive ones first, and which of these places count [B,size]:
    a picture may have too few.
    """
    like = f.number(positive)
    chance = f("RandomUniformLike", like, dtype=TensorProto.FLOAT)
    chances, places = f.top(f("Where", positive, chance, -1.0), most)
    hits = f.number(f("GreaterOrEqual", chances, 0.0))
    chosen = f("ScatterElements", f("Sub", like, like), places, hits, axis=1)
    # Chosen positives come before all negatives, whose chances are below 1.
    keys = f("Where", f("Greater", chosen, 0.5), f("Add", chance, 1.0), f("Where", negative, chance, -1.0))
    keys, places = f.top(keys, size)
    return places, f("GreaterOrEqual", keys, 0.0)


def head_rows(f, x, columns, to=None):
    """Brings a map [B, boxes of a place * columns, height, width] of predictions into rows [B, height * width * boxes, columns], in the order of the anchors."""
    return f.reshape(f("Transpose", x, perm=[0, 2, 3, 1]), 0, -1, columns, to=to)
