#!/usr/bin/python3
"""Writes one of the project's own networks as an ONNX file.

lenet:     x [batch,1,28,28] -> logits [batch,10]. LeNet-5 (LeCun et al. 1998) with ReLU and max pooling.
mlp:       x [batch,784] -> logits [batch,10]. Two hidden layers of 1024.
regressor: x [batch,8] -> y [batch,1]. An MLP of two hidden layers of 64.
resnet:    x [batch,3,32,32] -> logits [batch,10]. ResNet-20 of He et al. 2015, section 4.2, with --blocks basic blocks a stage (3: ResNet-20).
resnet18:  x [batch,3,32,32] -> logits [batch,10]. ResNet-18 (64 to 512 channels, two blocks a stage) with a 3x3 stem for small pictures.
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from network import Network  # noqa: E402


def lenet(net, _):
    y = net.max_pool(net.relu(net.conv(net.input("x", ["batch", 1, 28, 28]), "conv1", 1, 6, 5, pad=2), "relu1"), "pool1")
    y = net.max_pool(net.relu(net.conv(y, "conv2", 6, 16, 5), "relu2"), "pool2")
    y = net.node("Flatten", [y], "flatten")
    y = net.relu(net.linear(y, "fc1", 400, 120), "relu3")
    y = net.relu(net.linear(y, "fc2", 120, 84), "relu4")
    net.output(net.linear(y, "logits", 84, 10), ["batch", 10])


def regressor(net, _):
    y = net.relu(net.linear(net.input("x", ["batch", 8]), "fc1", 8, 64), "relu1")
    y = net.relu(net.linear(y, "fc2", 64, 64), "relu2")
    net.output(net.linear(y, "y", 64, 1), ["batch", 1])


def mlp(net, _):
    y = net.relu(net.linear(net.input("x", ["batch", 784]), "fc1", 784, 1024), "relu1")
    y = net.relu(net.linear(y, "fc2", 1024, 1024), "relu2")
    net.output(net.linear(y, "logits", 1024, 10), ["batch", 10])


def residual(net, widths, blocks):
    """3x3 stem, stages of basic blocks (the first of each later stage halves the map), global pooling, one linear layer."""
    def block(x, name, c_in, c_out, stride):
        y = net.relu(net.batch_norm(net.conv(x, f"{name}.conv1", c_in, c_out, 3, stride, 1, bias=False), f"{name}.bn1", c_out), f"{name}.relu1")
        y = net.batch_norm(net.conv(y, f"{name}.conv2", c_out, c_out, 3, 1, 1, bias=False), f"{name}.bn2", c_out)
        if stride != 1 or c_in != c_out:
            x = net.batch_norm(net.conv(x, f"{name}.down", c_in, c_out, 1, stride, bias=False), f"{name}.down.bn", c_out)
        return net.relu(net.node("Add", [y, x], f"{name}.add"), f"{name}.relu2")

    channels = widths[0]
    y = net.relu(net.batch_norm(net.conv(net.input("x", ["batch", 3, 32, 32]), "stem", 3, channels, 3, 1, 1, bias=False), "stem.bn", channels), "stem.relu")
    for stage, width in enumerate(widths):
        for index in range(blocks):
            y = block(y, f"stage{stage + 1}.{index}", channels, width, 2 if stage and index == 0 else 1)
            channels = width
    y = net.node("Flatten", [net.node("GlobalAveragePool", [y], "pool")], "flatten")
    net.output(net.linear(y, "logits", channels, 10), ["batch", 10])


def resnet(net, options):
    residual(net, (16, 32, 64), options.blocks)


def resnet18(net, _):
    residual(net, (64, 128, 256, 512), 2)


def main():
    networks = {"lenet": lenet, "mlp": mlp, "regressor": regressor, "resnet": resnet, "resnet18": resnet18}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=sorted(networks))
    parser.add_argument("output")
    parser.add_argument("--seed", type=int, default=1, help="of the initial values")
    parser.add_argument("--blocks", type=int, default=3, help="basic blocks a stage of resnet")
    parser.add_argument("--no-values", action="store_true", help="weights as graph inputs without values, for `mpc compile --params`")
    options = parser.parse_args()
    net = Network(options.name, options.seed, values=not options.no_values)
    networks[options.name](net, options)
    net.save(options.output)


if __name__ == "__main__":
    main()
