# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the same training steps in PyTorch, as a server that a benchmark drives over its standard input.

usage: training.py NETWORK MODEL.onnx|- BATCH fp32|bf16|fp16 eager|compile|graphs cpu|cuda [THREADS]
Reads lines `STEPS`, runs that many steps on one made-up batch and answers with a line of JSON that holds the seconds of each: measured by a clock on the
CPU, and by events on a GPU, where nothing waits for a step. It uses channels-last tensors, fused SGD with momentum, autocast, and the gradient scaler in
fp16. NETWORK is one of tools/models, a network of torchvision with its auxiliary losses (VISION; its MODEL is `-`), `gpt2` (GPT-2 124M with fused attention and AdamW), `gpt-T` (4 layers, 256 wide, T tokens), `dcgan`, or `ssd300`. `graphs` is torch.compile in its mode reduce-overhead (CUDA graphs). `-` as the model keeps PyTorch's own initial values.
"""
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


# Sizes of gpt: vocabulary, context, width, heads, layers. gpt2 is GPT-2 124M with its vocabulary padded to a multiple of 64.
GPT = {"gpt2": (50304, 1024, 768, 12, 12), **{f"gpt-{context}": (1024, context, 256, 4, 4) for context in (128, 1024, 4096)}}


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.logits = nn.Linear(784, 1024), nn.Linear(1024, 1024), nn.Linear(1024, 10)

    def forward(self, x):
        return self.logits(F.relu(self.fc2(F.relu(self.fc1(x)))))


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.logits = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2).flatten(1)
        return self.logits(F.relu(self.fc2(F.relu(self.fc1(x)))))


class Block(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.down = None
        if stride != 1 or channels != width:
            self.down = nn.Conv2d(channels, width, 1, stride, bias=False)
            self.down.bn = nn.BatchNorm2d(width)

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (self.down.bn(self.down(x)) if self.down is not None else x))


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 64, 3, padding=1, bias=False)
        self.stem.bn = nn.BatchNorm2d(64)
        channels = 64
        for stage, width in enumerate((64, 128, 256, 512), start=1):
            setattr(self, f"stage{stage}", nn.Sequential(Block(channels, width, 2 if stage > 1 else 1), Block(width, width, 1)))
            channels = width
        self.logits = nn.Linear(512, 10)

    def forward(self, x):
        x = F.relu(self.stem.bn(self.stem(x)))
        x = self.stage4(self.stage3(self.stage2(self.stage1(x))))
        return self.logits(x.mean((2, 3)))


class Recurrent(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.rnn, self.logits = cell(512, 512, num_layers=2, batch_first=True), nn.Linear(512, 10)

    def forward(self, x):
        return self.logits(self.rnn(x)[0][:, -1])


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm2, self.wide, self.narrow, self.heads = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width), heads

    def forward(self, x):
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.qkv(self.norm1(x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.narrow(F.gelu(self.wide(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """The network `gpt` of tools/models (Radford et al. 2019)."""

    def __init__(self, vocabulary, context, width, heads, layers):
        super().__init__()
        self.vocabulary = vocabulary
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Parameter(0.02 * torch.randn(context, width))
        self.blocks, self.norm = nn.Sequential(*(GptBlock(width, heads) for _ in range(layers))), nn.LayerNorm(width)
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, x):
        return F.linear(self.norm(self.blocks(self.tokens(x) + self.positions)), self.tokens.weight).flatten(0, 1)


def recurrent_parameters(layer, values):
    """Returns the weights of a layer of an RNN as PyTorch names and orders them; ONNX's gates are i o f c (LSTM) and z r h (GRU), PyTorch's i f g o and r z n."""
    gates = values["input"].shape[1] // values["hidden"].shape[2]
    order = [0, 2, 3, 1] if gates == 4 else [1, 0, 2]

    def ordered(value):
        return torch.cat([value.chunk(gates)[i] for i in order])
    bias = values["bias"][0].chunk(2)
    return {f"rnn.weight_ih_{layer}": ordered(values["input"][0]), f"rnn.weight_hh_{layer}": ordered(values["hidden"][0]),
            f"rnn.bias_ih_{layer}": ordered(bias[0]), f"rnn.bias_hh_{layer}": ordered(bias[1])}


def parameters(path):
    """Returns the initializers of the ONNX file under PyTorch's names; the file's linear weights are [in, out]."""
    import onnx
    from onnx import numpy_helper
    names = {"scale": "weight", "mean": "running_mean", "var": "running_var"}
    values, layers = {}, {}
    for tensor in onnx.load(path).graph.initializer:
        prefix, _, last = tensor.name.rpartition(".")
        value = torch.from_numpy(numpy_helper.to_array(tensor).copy())
        if not value.is_floating_point():
            continue
        if prefix.startswith("rnn."):
            layers.setdefault(prefix[4:], {})[last] = value
            continue
        values[f"{prefix}.{names.get(last, last)}"] = value.T.contiguous() if value.ndim == 2 else value
    for layer, parts in layers.items():
        values.update(recurrent_parameters(layer, parts))
    return values


NETWORKS = {"mlp": (Mlp, (784,)), "lenet": (LeNet, (1, 28, 28)), "resnet18": (ResNet18, (3, 32, 32)), "lstm": (lambda: Recurrent(nn.LSTM), (64, 512)),
            "gru": (lambda: Recurrent(nn.GRU), (64, 512)), **{name: (lambda sizes=sizes: Gpt(*sizes), (sizes[1],)) for name, sizes in GPT.items()}}
# Networks of torchvision: the side of their pictures, the share of each auxiliary loss, and further arguments.
OWN_VALUES = {"init_weights": True}  # which is said, or torchvision warns
VIT_S = {"image_size": 224, "patch_size": 16, "num_layers": 12, "num_heads": 6, "hidden_dim": 384, "mlp_dim": 1536}  # ViT-S/16
VISION = {"alexnet": (224, 0, {}), "vgg16": (224, 0, {}), "googlenet": (224, 0.3, OWN_VALUES), "inception_v3": (299, 0.4, OWN_VALUES), "resnet50": (224, 0, {}),
          "densenet121": (224, 0, {}), "mobilenet_v2": (224, 0, {}), "efficientnet_b0": (224, 0, {}), "convnext_tiny": (224, 0, {}), "vit_s": (224, 0, VIT_S)}
TYPES = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}


def on_clock(step, steps):
    seconds = []
    for _ in range(steps):
        start = time.perf_counter()
        step().item()
        seconds.append(time.perf_counter() - start)
    return seconds


def on_events(step, steps):
    events = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    events[0].record()
    for event in events[1:]:
        step()
        event.record()
    torch.cuda.synchronize()
    return [a.elapsed_time(b) / 1e3 for a, b in zip(events, events[1:])]


def serve(step, device):
    """Warms up, says that it is ready, and answers each line with the times of so many steps."""
    for _ in range(3):
        loss = step().item()
    print(json.dumps({"torch": torch.__version__, "loss": loss}), flush=True)
    measure = on_clock if device == "cpu" else on_events
    for line in sys.stdin:
        print(json.dumps(measure(step, int(line))), flush=True)


def main():
    network, model_path, batch, precision, mode, device, *threads = sys.argv[1:]
    if threads:
        torch.set_num_threads(int(threads[0]))
    torch.manual_seed(0)

    def autocast():
        return torch.autocast(device, dtype=TYPES[precision], enabled=precision != "fp32")

    wrap = {"eager": lambda module: module, "compile": torch.compile, "graphs": lambda module: torch.compile(module, mode="reduce-overhead")}[mode]
    if network in ("dcgan", "ssd300"):
        assert precision != "fp16", f"{network} has no gradient scaler here"
        if network == "dcgan":
            from dcgan import make_step
        else:
            from detection import make_step
        return serve(make_step(int(batch), device, autocast, wrap), device)
    if network in VISION:
        import torchvision
        side, share, more = VISION[network]
        model = torchvision.models.VisionTransformer(**more) if network == "vit_s" else getattr(torchvision.models, network)(weights=None, **more)
        shape = (3, side, side)
    else:
        (maker, shape), share = NETWORKS[network], 0
        model = maker()
    if model_path != "-":
        missing, unexpected = model.load_state_dict(parameters(model_path), strict=False)
        assert not unexpected and all(name.endswith("num_batches_tracked") for name in missing), (missing, unexpected)
    model = model.to(device)
    if network in GPT:
        vocabulary, context, *_ = GPT[network]
        x = torch.randint(0, vocabulary, (int(batch), context), device=device)
        label = torch.randint(0, vocabulary, (int(batch) * context,), device=device)
    else:
        x, label = torch.randn(int(batch), *shape, device=device), torch.randint(0, 10, (int(batch),), device=device)
    if len(shape) == 3:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True) if network in GPT else torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)
    scaler = torch.amp.GradScaler(device, enabled=precision == "fp16")
    run = wrap(model)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            scores = run(x)
            first, *others = (scores,) if isinstance(scores, torch.Tensor) else scores
            loss = F.cross_entropy(first, label) + share * sum(F.cross_entropy(each, label) for each in others)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    serve(step, device)


if __name__ == "__main__":
    main()
