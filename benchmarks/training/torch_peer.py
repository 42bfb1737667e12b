"""The same training steps in PyTorch on the CPU; a server that benchmark.py drives over its standard input.

usage: torch_peer.py NETWORK MODEL.onnx BATCH fp32|bf16|fp16 eager|compile THREADS
Reads lines `STEPS`, runs that many steps on one made-up batch and answers a line of JSON with the seconds of each.
Channels-last tensors, fused SGD with momentum, autocast, and the gradient scaler in fp16.
"""
import json
import sys
import time

import onnx
import torch
from onnx import numpy_helper
from torch import nn
from torch.nn import functional as F


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


def parameters(path):
    """The initializers of the ONNX file under PyTorch's names; its linear weights are [in, out]."""
    names = {"scale": "weight", "mean": "running_mean", "var": "running_var"}
    values = {}
    for tensor in onnx.load(path).graph.initializer:
        prefix, _, last = tensor.name.rpartition(".")
        value = torch.from_numpy(numpy_helper.to_array(tensor).copy())
        values[f"{prefix}.{names.get(last, last)}"] = value.T.contiguous() if value.ndim == 2 else value
    return values


NETWORKS = {"mlp": (Mlp, (784,)), "lenet": (LeNet, (1, 28, 28)), "resnet18": (ResNet18, (3, 32, 32))}
TYPES = {"fp32": None, "bf16": torch.bfloat16, "fp16": torch.float16}


def main():
    network, model_path, batch, precision, mode, threads = sys.argv[1:7]
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    maker, shape = NETWORKS[network]
    model = maker()
    missing, unexpected = model.load_state_dict(parameters(model_path), strict=False)
    assert not unexpected and all(name.endswith("num_batches_tracked") for name in missing), (missing, unexpected)
    x, label = torch.randn(int(batch), *shape), torch.randint(0, 10, (int(batch),))
    if len(shape) == 3:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=True)
    scaler = torch.amp.GradScaler("cpu", enabled=precision == "fp16")
    run = torch.compile(model) if mode == "compile" else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=TYPES[precision], enabled=precision != "fp32"):
            loss = F.cross_entropy(run(x), label)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.item()

    for _ in range(3):
        loss = step()
    print(json.dumps({"torch": torch.__version__, "loss": loss}), flush=True)
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            start = time.perf_counter()
            step()
            seconds.append(time.perf_counter() - start)
        print(json.dumps(seconds), flush=True)


if __name__ == "__main__":
    main()
