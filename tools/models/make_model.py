#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes one of the project's own networks as an ONNX file.

lenet:     x [batch,1,28,28] -> logits [batch,10]. LeNet-5 (LeCun et al. 1998) with ReLU and max pooling.
mlp:       x [batch,784] -> logits [batch,10]. Two hidden layers of 1024.
regressor: x [batch,8] -> y [batch,1]. An MLP of two hidden layers of 64.
resnet:    x [batch,3,32,32] -> logits [batch,10]. ResNet-20 of He et al. 2015, section 4.2, with --blocks basic blocks per stage (3: ResNet-20).
resnet18:  x [batch,3,32,32] -> logits [batch,10]. ResNet-18 (64 to 512 channels, two blocks per stage) with a 3x3 stem for small pictures.
lstm, gru: x [batch,64,512] -> logits [batch,10]. Two layers of 512 over 64 time steps, and a linear layer behind the last one.
gpt:       inputs int64 [batch,context] -> logits [batch,context,vocabulary]. GPT-2 (Radford et al. 2019), small enough for characters: --layers, --heads, --width,
           --context, --vocabulary. make_text.py makes its data.
inception_v2: x [batch,3,224,224], labels [batch] -> loss, logits [batch,classes]. BN-Inception (Ioffe and Szegedy 2015) with its two auxiliary losses: --classes.
ssd_small: image [batch,3,size,size], boxes [batch,M,4], labels [batch,M] -> loss, class_loss, box_loss, scores, detections. A small SSD: --classes, --size, --boxes.
ssd300:    the same with pictures of 300 pixels. SSD300 on VGG-16 (Liu et al. 2016): --classes, --boxes.
faster_rcnn_small: the same inputs -> loss, rpn_class_loss, rpn_box_loss, class_loss, box_loss, scores, detections. A small Faster R-CNN: --classes, --size, --boxes.
faster_rcnn_vgg16: the same. Faster R-CNN on VGG-16 (Ren et al. 2015): --classes, --size, --boxes.
dcgan:     real [batch,3,64,64] -> d_loss, g_loss, fake [batch,3,64,64]. DCGAN (Radford et al. 2016), for two steps (`mpc compile --step`): --batch, --channels.
"""
import argparse
import os
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from faster_rcnn_networks import faster_rcnn_small, faster_rcnn_vgg16  # noqa: E402
from network import INT64, Network  # noqa: E402
from paper_networks import dcgan, inception_v2  # noqa: E402
from ssd_networks import ssd300, ssd_small  # noqa: E402

CLASSES = {"inception_v2": 1000, "ssd_small": 3, "ssd300": 20, "faster_rcnn_small": 3, "faster_rcnn_vgg16": 20}
BOXES = {"ssd_small": 8, "ssd300": 64, "faster_rcnn_small": 8, "faster_rcnn_vgg16": 64}
SIZES = {"ssd_small": 64, "faster_rcnn_small": 64, "faster_rcnn_vgg16": 600}


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
    """Builds a 3x3 stem, stages of basic blocks (the first of each later stage halves the map), global pooling, and one linear layer."""
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


def recurrent(net, op, gates, steps=64, width=512):
    """Builds two layers; the weights have ONNX's shapes and order of gates."""
    y = net.node("Transpose", [net.input("x", ["batch", steps, width])], "steps", perm=[1, 0, 2])
    for layer in ("rnn.l0", "rnn.l1"):
        weights = [net.parameter(f"{layer}.{name}", (1, gates * width, width), fan_in=2 * width) for name in ("input", "hidden")]
        attributes = {"linear_before_reset": 1} if op == "GRU" else {}
        y = net.node(op, [y, *weights, net.parameter(f"{layer}.bias", (1, 2 * gates * width))], [f"{layer}.all", f"{layer}.last"], hidden_size=width, **attributes)
        y = net.node("Squeeze", [y, net.constant(f"{layer}.axis", [1], np.int64)], f"{layer}.y")
    last = net.node("Squeeze", ["rnn.l1.last", net.constant("axis", [0], np.int64)], "last")
    net.output(net.linear(last, "logits", width, 10), ["batch", 10])


def gpt(net, options):
    """Builds pre-norm blocks of causal attention and an MLP four times as wide; the output layer is the table of the embedding. Weights start like GPT-2's: N(0, 0.02),
    divided by the root of their number if they add to the residual stream."""
    net.opset = 17  # for LayerNormalization
    layers, heads, width, context = options.layers, options.heads, options.width, options.context

    def weight(name, shape, deviation=0.02):
        return net.constant(name, net.rng.normal(0, deviation, shape), np.float32) if net.values else net.input(name, list(shape))

    def linear(x, name, features_in, features_out, deviation=0.02):
        y = net.node("MatMul", [x, weight(f"{name}.weight", (features_in, features_out), deviation)], f"{name}.product")
        return net.node("Add", [y, net.parameter(f"{name}.bias", (features_out,))], name)

    def norm(x, name):
        return net.node("LayerNormalization", [x, net.parameter(f"{name}.weight", (width,), value=1), net.parameter(f"{name}.bias", (width,))], name,
                        epsilon=1e-5)

    def attention(x, name):
        qkv = linear(x, f"{name}.qkv", width, 3 * width)
        parts = [f"{name}.{part}" for part in "qkv"]
        net.node("Split", [qkv], parts, axis=-1)
        # The shape is [batch, heads, context, width of a head], for keys [batch, heads, width of a head, context].
        q, k, v = (net.node("Transpose", [net.node("Reshape", [part, "heads"], f"{part}.split")], f"{part}.heads", perm=perm)
                   for part, perm in zip(parts, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])))
        scores = net.node("Mul", [net.node("MatMul", [q, k], f"{name}.products"), "scale"], f"{name}.scaled")
        chances = net.node("Softmax", [net.node("Where", ["causal", scores, "minus"], f"{name}.masked")], f"{name}.chances", axis=-1)
        y = net.node("Transpose", [net.node("MatMul", [chances, v], f"{name}.mixed")], f"{name}.together", perm=[0, 2, 1, 3])
        return linear(net.node("Reshape", [y, "joined"], f"{name}.joined"), f"{name}.out", width, width, 0.02 / np.sqrt(2 * layers))

    def gelu(x, name):
        """GPT-2's GELU: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""
        cube = net.node("Mul", [net.node("Pow", [x, "three"], f"{name}.cube"), "share"], f"{name}.term")
        bent = net.node("Tanh", [net.node("Mul", [net.node("Add", [x, cube], f"{name}.sum"), "root"], f"{name}.inner")], f"{name}.tanh")
        return net.node("Mul", [net.node("Mul", [x, "half"], f"{name}.half"), net.node("Add", [bent, "one"], f"{name}.gate")], name)

    net.input("inputs", ["batch", context], INT64)
    for name, value in (("three", 3), ("share", 0.044715), ("root", np.sqrt(2 / np.pi)), ("half", 0.5), ("one", 1)):
        net.constant(name, value, np.float32)
    net.constant("heads", [0, 0, heads, width // heads], np.int64)
    net.constant("joined", [0, 0, width], np.int64)
    net.constant("causal", np.tril(np.ones((1, 1, context, context), bool)))
    net.constant("scale", 1 / np.sqrt(width / heads), np.float32)
    net.constant("minus", -np.inf, np.float32)
    x = net.node("Gather", [weight("wte", (options.vocabulary, width)), "inputs"], "tokens")
    x = net.node("Add", [x, weight("wpe", (context, width))], "embedded")
    for layer in range(layers):
        x = net.node("Add", [x, attention(norm(x, f"h{layer}.norm1"), f"h{layer}.attention")], f"h{layer}.attended")
        y = gelu(linear(norm(x, f"h{layer}.norm2"), f"h{layer}.mlp.in", width, 4 * width), f"h{layer}.gelu")
        x = net.node("Add", [x, linear(y, f"h{layer}.mlp.out", 4 * width, width, 0.02 / np.sqrt(2 * layers))], f"h{layer}.added")
    table = net.node("Transpose", ["wte"], "wte.columns", perm=[1, 0])
    net.node("MatMul", [norm(x, "norm"), table], "logits")
    net.output("logits", ["batch", context, options.vocabulary])


def main():
    networks = {"lenet": lenet, "mlp": mlp, "regressor": regressor, "resnet": resnet, "resnet18": resnet18, "gpt": gpt, "lstm": lambda net, _: recurrent(net, "LSTM", 4),
                "gru": lambda net, _: recurrent(net, "GRU", 3), "inception_v2": inception_v2, "dcgan": dcgan, "ssd_small": ssd_small, "ssd300": ssd300,
                "faster_rcnn_small": faster_rcnn_small, "faster_rcnn_vgg16": faster_rcnn_vgg16}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=sorted(networks))
    parser.add_argument("output")
    parser.add_argument("--seed", type=int, default=1, help="of the initial values")
    parser.add_argument("--blocks", type=int, default=3, help="basic blocks a stage of resnet")
    for name, standard, what in (("layers", 4, "blocks"), ("heads", 4, "heads of attention"), ("width", 128, "of the residual stream"),
                                 ("context", 64, "tokens of a sample"), ("vocabulary", 65, "tokens that there are")):
        parser.add_argument(f"--{name}", type=int, default=standard, help=f"gpt: {what} ({standard})")
    for name, standard, what in (("classes", CLASSES, "classes, of detectors without the background"), ("boxes", BOXES, "rows of `boxes` and `labels` of a picture"),
                                 ("size", SIZES, "pixels of a side of a picture")):
        parser.add_argument(f"--{name}", type=int, help=f"{what} ({', '.join(f'{network} {value}' for network, value in standard.items())})")
    parser.add_argument("--batch", type=int, default=128, help="dcgan: samples of a batch, which its noise has too (128)")
    parser.add_argument("--channels", type=int, default=128, help="dcgan: channels of the discriminator's first layer (128)")
    parser.add_argument("--no-values", action="store_true", help="weights as graph inputs without values, for `mpc compile --params`")
    options = parser.parse_args()
    for name, standard in (("classes", CLASSES), ("boxes", BOXES), ("size", SIZES)):
        if getattr(options, name) is None:
            setattr(options, name, standard.get(options.name))
    net = Network(options.name, options.seed, values=not options.no_values)
    networks[options.name](net, options)
    net.save(options.output)


if __name__ == "__main__":
    main()
