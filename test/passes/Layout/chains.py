# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seeded chains of graph ops, as modules that mpc-opt and mpc-interpret read: convolutions, products, transposes, reshapes, norms with their gradients, pools,
softmax, concatenations and elementwise ops.

Values come from variables, which the evaluator fills by their names, so that nothing is folded and layouts may be changed. A module holds several chains in
one entry: each gives one result.
"""
import math
import random

MAX_ELEMENTS = 4000


def tensor(shape):
    return f"tensor<{'x'.join(map(str, shape))}{'x' if shape else ''}f32>"


def array(values):
    return f"array<i64{': ' if values else ''}{', '.join(map(str, values))}>"


class Chain:
    """The lines of one chain. `value` and `shape` are those of its newest result."""

    def __init__(self, prefix, seed):
        self.prefix, self.random, self.count = prefix, random.Random(seed), 0
        self.variables, self.lines, self.seen = [], [], []
        rank = self.random.choice([2, 3, 3, 4, 4, 4, 5])
        shape = [self.random.randint(1, 3), self.random.randint(1, 5)] + [self.random.randint(2, 6) for _ in range(rank - 2)]
        self.shape = shape
        self.value = self.read(shape)

    def name(self):
        self.count += 1
        return f"%{self.prefix}_{self.count}"

    def read(self, shape, scale=0.5):
        variable = f'@"{self.prefix}_v{len(self.variables)}"'
        self.variables.append(f"train.variable {variable} parameter : {tensor(shape)} = #train.normal<0.0, {scale:.4f}>")
        name = self.name()
        self.lines.append(f"{name} = train.read {variable} : {tensor(shape)}")
        return name

    def op(self, text, shape):
        """Appends an op that gives this shape. The old value stays for concatenations and residual sums."""
        self.seen.append((self.value, self.shape))
        name = self.name()
        self.lines.append(f"{name} = graph.{text}")
        self.value, self.shape = name, list(shape)

    def several(self, text, count, shape):
        """Appends an op of several results, the first of which has this shape."""
        self.op(text, shape)
        self.lines[-1] = self.lines[-1].replace(" = ", f":{count} = ", 1)
        self.value += "#0"

    def binary(self, op, other, other_shape, swap=False):
        first, second = ((other, other_shape), (self.value, self.shape)) if swap else ((self.value, self.shape), (other, other_shape))
        result = [max(a, b) if 0 not in (a, b) else 0 for a, b in zip(self.shape, [1] * (len(self.shape) - len(other_shape)) + list(other_shape))]
        self.op(f"{op} {first[0]}, {second[0]} : ({tensor(first[1])}, {tensor(second[1])}) -> {tensor(result)}", result)

    # -- links: each returns False where it does not fit ----------------------------------------------------
    def unary(self):
        self.op(f"{self.random.choice(['relu', 'sigmoid', 'tanh', 'abs', 'neg', 'sin'])} {self.value} : {tensor(self.shape)}", self.shape)

    def elementwise(self):
        shape = [1 if self.random.random() < 0.4 else d for d in self.shape]
        shape = shape[self.random.randrange(len(shape)):] if shape and self.random.random() < 0.3 else shape
        old = [s for s in self.seen if s[1] == self.shape]
        other = self.random.choice(old) if old and self.random.random() < 0.4 else (self.read(shape), shape)
        self.binary(self.random.choice(["add", "add", "mul", "sub", "max"]), other[0], other[1], self.random.random() < 0.3)

    def window(self):
        spatial = self.shape[2:]
        kernel = [self.random.randint(1, min(3, d)) for d in spatial]
        low, high = ([self.random.randint(0, k - 1) for k in kernel] for _ in range(2))
        strides = [self.random.choice([1, 1, 1, 2]) for _ in spatial]
        out = [(d + a + b - k) // s + 1 for d, a, b, k, s in zip(spatial, low, high, kernel, strides)]
        return kernel, f"strides = {array(strides)}, dilations = {array([1] * len(spatial))}, pad_low = {array(low)}, pad_high = {array(high)}", out

    def conv(self):
        if not 3 <= len(self.shape) <= 5:
            return False
        kernel, attributes, out = self.window()
        channels, groups = self.shape[1], self.shape[1] if self.random.random() < 0.2 else 1
        features = groups * self.random.randint(1, 4)
        shape = [features, channels // groups] + kernel
        weight = self.read(shape, max(1, math.prod(shape[1:])) ** -0.5)
        result = [self.shape[0], features] + out
        self.op(f"conv {self.value}, {weight} {{{attributes}, groups = {groups} : i64}} : ({tensor(self.shape)}, {tensor(shape)}) -> {tensor(result)}", result)
        if self.random.random() < 0.6:
            bias = [features] + [1] * len(kernel)
            self.binary("add", self.read(bias), bias)

    def pool(self):
        if not 3 <= len(self.shape) <= 5:
            return False
        kernel, attributes, out = self.window()
        result = self.shape[:2] + out
        if self.random.random() < 0.5:
            positions = tensor(result).replace("f32", "i16")
            self.several(f"max_pool {self.value} {{kernel = {array(kernel)}, {attributes}}} : ({tensor(self.shape)}) -> ({tensor(result)}, {positions})", 2, result)
            return None
        self.op(f"avg_pool {self.value} {{kernel = {array(kernel)}, {attributes}, count_include_pad}} : ({tensor(self.shape)}) -> {tensor(result)}", result)

    def matmul(self):
        if len(self.shape) < 2:
            return False
        n = self.random.randint(1, 6)
        shape = [self.shape[-1], n]
        weight = self.read(shape, max(1, shape[0]) ** -0.5)
        result = self.shape[:-1] + [n]
        self.op(f"matmul {self.value}, {weight} : ({tensor(self.shape)}, {tensor(shape)}) -> {tensor(result)}", result)

    def transpose(self):
        rank = len(self.shape)
        if rank < 2:
            return False
        kinds = [random.Random(self.random.random()).sample(range(rank), rank), [0] + list(range(2, rank)) + [1], [0, rank - 1] + list(range(1, rank - 1))]
        if rank == 3:
            kinds += [[0, 2, 1]] * 2
        permutation = self.random.choice(kinds)
        result = [self.shape[p] for p in permutation]
        self.op(f"transpose {self.value} {{permutation = {array(permutation)}}} : ({tensor(self.shape)}) -> {tensor(result)}", result)

    def reshape(self):
        total, result = math.prod(self.shape), []
        while total > 1 and len(result) < 4:
            result.append(self.random.choice([d for d in range(2, total + 1) if total % d == 0][:3]))
            total //= result[-1]
        result = result + [total] if total > 1 else result or [1]
        if self.random.random() < 0.5:
            result.insert(self.random.randint(0, len(result)), 1)
        if len(result) > 5:
            return False
        self.op(f"reshape {self.value} : {tensor(self.shape)} to {tensor(result)}", result)

    def norm(self):
        """Appends a layer or instance norm of primitive ops, or a batch norm."""
        rank = len(self.shape)
        if rank < 3 or self.random.random() < 0.6:
            axes = [rank - 1] if rank < 3 or self.random.random() < 0.5 else list(range(2, rank))
            x, shape = self.value, self.shape
            kept = [1 if d in axes else e for d, e in enumerate(shape)]
            reduce = lambda: self.op(f"reduce_mean {self.value} {{axes = {array(axes)}, keepdims = true}} : ({tensor(shape)}) -> {tensor(kept)}", kept)
            reduce()
            mean = self.value
            self.value, self.shape = x, shape
            self.binary("sub", mean, kept)
            centred = self.value
            self.binary("mul", centred, shape)
            reduce()
            half = [1] * rank
            self.binary("add", self.constant(half), half)
            self.op(f"rsqrt {self.value} : {tensor(kept)}", kept)
            inverse = self.value
            self.value, self.shape = centred, shape
            self.binary("mul", inverse, kept)
            return None
        c = [self.shape[1]]
        self.several(f"batch_norm {self.value}, {self.read(c)}, {self.read(c)} {{epsilon = 1.0e-2 : f64, axis = 1 : i64}} : "
                     f"({tensor(self.shape)}, {tensor(c)}, {tensor(c)}) -> ({tensor(self.shape)}, {tensor(c)}, {tensor(c)})", 3, self.shape)
        return None

    def layer_norm(self):
        """Appends one of the three kinds of layer norm over some dimensions, or its gradient."""
        rank = len(self.shape)
        if rank < 2:
            return False
        axes = self.random.choice([[rank - 1], list(range(2, rank)) or [1], sorted(self.random.sample(range(rank), self.random.randint(1, rank)))])
        kept = [1 if d in axes else e for d, e in enumerate(self.shape)]
        affine = [[], [self.shape[d] if d in axes else 1 for d in range(rank)], self.shape[-1:]][self.random.randrange(3)]
        attributes = f"{{axes = {array(axes)}, epsilon = 1.0e-2 : f64, kind = #graph<norm {self.random.choice(['layer', 'rms', 'l2'])}>}}"
        x, scale, bias = self.value, self.read(affine), self.read(affine)
        whole, shapes = tensor(self.shape), f"{tensor(self.shape)}, {tensor(affine)}, {tensor(affine)}"
        self.several(f"layer_norm {x}, {scale}, {bias} {attributes} : ({shapes}) -> ({whole}, {tensor(kept)}, {tensor(kept)})", 3, self.shape)
        if self.random.random() < 0.4:
            statistics = self.value[:-1]
            self.several(f"layer_norm_grad {x}, {scale}, {bias}, {statistics}1, {statistics}2, {self.value} {attributes} : "
                         f"({shapes}, {tensor(kept)}, {tensor(kept)}, {whole}) -> ({shapes})", 3, self.shape)
        return None

    def group_norm(self):
        """Appends a norm of groups of channels of each sample, or its gradient."""
        if len(self.shape) < 3:
            return False
        c = [self.shape[1]]
        groups = self.random.choice([g for g in range(1, c[0] + 1) if c[0] % g == 0])
        attributes = f"{{epsilon = 1.0e-2 : f64, axis = 1 : i64, groups = {groups} : i64}}"
        x, scale, statistic, whole = self.value, self.read(c), tensor([self.shape[0], groups]), tensor(self.shape)
        self.several(f"group_norm {x}, {scale}, {self.read(c)} {attributes} : ({whole}, {tensor(c)}, {tensor(c)}) -> ({whole}, {statistic}, {statistic})", 3, self.shape)
        if self.random.random() < 0.4:
            statistics = self.value[:-1]
            self.several(f"group_norm_grad {x}, {scale}, {statistics}1, {statistics}2, {self.value} {attributes} : "
                         f"({whole}, {tensor(c)}, {statistic}, {statistic}, {whole}) -> ({whole}, {tensor(c)}, {tensor(c)})", 3, self.shape)
        return None

    def softmax(self):
        if not self.shape:
            return False
        self.op(f"{self.random.choice(['softmax', 'log_softmax'])} {self.value} {{axis = {self.random.randrange(len(self.shape))} : i64}} : {tensor(self.shape)}", self.shape)

    def constant(self, shape):
        name = self.name()
        self.lines.append(f"{name} = graph.constant dense<0.5> : {tensor(shape)}")
        return name

    def concat(self):
        if not self.shape:
            return False
        axis = self.random.randrange(len(self.shape))
        rest = lambda s: len(s) == len(self.shape) and s[:axis] + s[axis + 1:] == self.shape[:axis] + self.shape[axis + 1:]
        old = [s for s in self.seen if rest(s[1])]
        shape = self.shape[:axis] + [self.random.randint(1, 3)] + self.shape[axis + 1:]
        other = self.random.choice(old) if old and self.random.random() < 0.7 else (self.read(shape), shape)
        pair = [(self.value, self.shape), other]
        self.random.shuffle(pair)
        result = list(self.shape)
        result[axis] += other[1][axis]
        self.op(f"concat {pair[0][0]}, {pair[1][0]} {{axis = {axis} : i64}} : ({tensor(pair[0][1])}, {tensor(pair[1][1])}) -> {tensor(result)}", result)

    def slice(self):
        sizes = [self.random.randint(1, d) for d in self.shape]
        starts = [self.random.randint(0, d - s) for d, s in zip(self.shape, sizes)]
        self.op(f"slice {self.value} {{starts = {array(starts)}, sizes = {array(sizes)}, strides = {array([1] * len(sizes))}}} : ({tensor(self.shape)}) -> {tensor(sizes)}", sizes)

    def pad(self):
        low, high = ([self.random.choice([0, 0, 1]) for _ in self.shape] for _ in range(2))
        result = [a + d + b for a, d, b in zip(low, self.shape, high)]
        self.op(f"pad {self.value} {{value = 0.0 : f64, low = {array(low)}, high = {array(high)}, interior = {array([0] * len(low))}}} : ({tensor(self.shape)}) -> {tensor(result)}", result)

    def reduce(self):
        axes = sorted(self.random.sample(range(len(self.shape)), self.random.randint(1, len(self.shape)))) if self.shape else []
        result = [1 if d in axes else e for d, e in enumerate(self.shape)]
        kind = self.random.choice(["reduce_mean", "reduce_sum", "reduce_l2", "reduce_max"])
        self.op(f"{kind} {self.value} {{axes = {array(axes)}, keepdims = true}} : ({tensor(self.shape)}) -> {tensor(result)}", result)


LINKS = [("conv", 6), ("matmul", 3), ("transpose", 5), ("reshape", 2), ("norm", 3), ("layer_norm", 3), ("group_norm", 2), ("softmax", 1), ("concat", 3), ("unary", 4), ("elementwise", 4), ("pool", 2), ("slice", 1), ("pad", 1), ("reduce", 1)]


def chain(prefix, seed):
    """Returns (variables, lines, result, its shape) of a seed's chain."""
    made = Chain(prefix, seed)
    links, weights = zip(*LINKS)
    for _ in range(made.random.randint(3, 14)):
        before = made.value
        getattr(made, made.random.choices(links, weights)[0])()
        if math.prod(made.shape) > MAX_ELEMENTS:  # too large: the next link starts from the value before
            made.value, made.shape = made.seen[-1]
            assert made.value == before or made.seen
    return made.variables, made.lines, made.value, made.shape


def module(seeds):
    """Returns a module whose entry @main has one result for each seed's chain."""
    variables, lines, values, types = [], [], [], []
    for i, seed in enumerate(seeds):
        v, own, value, shape = chain(f"c{i}", seed)
        variables += v
        lines += own
        values.append(value)
        types.append(tensor(shape))
    body = "\n".join("  " + line for line in lines)
    return "\n".join(variables) + f"\nfunc.func @main() -> ({', '.join(types)}) {{\n{body}\n  return {', '.join(values)} : {', '.join(types)}\n}}\n"
