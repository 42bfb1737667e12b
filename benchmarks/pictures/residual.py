# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Residual networks for pictures of 32x32 (He et al., "Deep Residual Learning for Image Recognition", CVPR 2016): ResNet-20 of its section 4.2, with projections, and
ResNet-50 with a first convolution of 3x3 and no pooling behind it, as is usual for CIFAR."""
from torch import nn
from torch.nn import functional


class Unit(nn.Module):
    """Convolutions of the given (kernel, channels), each followed by a batch norm, beside a shortcut; the first of 3x3 has the stride."""

    def __init__(self, channels, convolutions, stride):
        super().__init__()
        layers, inside, left = [], channels, stride
        for kernel, outputs in convolutions:
            step, left = (left, 1) if kernel == 3 else (1, left)
            layers += [nn.Conv2d(inside, outputs, kernel, step, kernel // 2, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
            inside = outputs
        self.body = nn.Sequential(*layers[:-1])
        self.shortcut = nn.Sequential()
        if stride != 1 or channels != inside:
            self.shortcut = nn.Sequential(nn.Conv2d(channels, inside, 1, stride, bias=False), nn.BatchNorm2d(inside))

    def forward(self, x):
        return functional.relu(self.body(x) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, first, stages, classes=10):
        """stages: (how many units, their convolutions, the stride of the first unit)."""
        super().__init__()
        units, channels = [nn.Conv2d(3, first, 3, 1, 1, bias=False), nn.BatchNorm2d(first), nn.ReLU()], first
        for count, convolutions, stride in stages:
            for i in range(count):
                units.append(Unit(channels, convolutions, stride if i == 0 else 1))
                channels = convolutions[-1][1]
        self.features, self.classifier = nn.Sequential(*units), nn.Linear(channels, classes)

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


def resnet20():
    return ResNet(16, [(3, [(3, width), (3, width)], stride) for width, stride in ((16, 1), (32, 2), (64, 2))])


def resnet50():
    return ResNet(64, [(count, [(1, width), (3, width), (1, 4 * width)], stride) for count, width, stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2))])
