# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Networks of "Mixed Precision Training" (ICLR 2018) that torchvision does not have, as training graphs which end in their losses."""
import numpy as np
from network import INT64

# Figure 5 of Ioffe and Szegedy 2015 (arXiv:1502.03167): channels of 1x1, 3x3 behind 1x1, two 3x3 behind 1x1, and the 1x1 behind the pool. Blocks without the first have
# stride 2, and pass the pool's channels on. The table has 576 channels behind 4c and 4d, whose parts add up to 608; the parts count here.
BLOCKS = {
    "3a": (64, (64, 64), (64, 96), "average", 32),
    "3b": (64, (64, 96), (64, 96), "average", 64),
    "3c": (0, (128, 160), (64, 96), "max", 0),
    "4a": (224, (64, 96), (96, 128), "average", 128),
    "4b": (192, (96, 128), (96, 128), "average", 128),
    "4c": (160, (128, 160), (128, 160), "average", 128),
    "4d": (96, (128, 192), (160, 192), "average", 128),
    "4e": (0, (128, 192), (192, 256), "max", 0),
    "5a": (352, (192, 320), (160, 224), "average", 128),
    "5b": (352, (192, 320), (192, 224), "max", 128),
}
AUXILIARY = {"3c": "aux1", "4e": "aux2"}  # heads as in GoogLeNet (Szegedy et al. 2014), whose losses count 0.3 times


def inception_v2(net, options):
    """Builds x [batch,3,224,224], labels [batch] -> loss, logits [batch,classes], with two auxiliary losses."""
    classes = options.classes

    def conv(x, name, c_in, c_out, kernel, stride=1, pad=0):
        """Builds a convolution without bias, its batch norm, and ReLU."""
        return net.relu(net.batch_norm(net.conv(x, name, c_in, c_out, kernel, stride, pad, bias=False), f"{name}.bn", c_out), f"{name}.relu")

    def pool(x, name, kind, stride):
        """3x3. With stride 2, a last window may reach beyond the map (ceil mode), as in GoogLeNet."""
        pads = [1] * 4 if stride == 1 else [0, 0, 1, 1]  # for even maps the same as ceil mode
        attributes = {"count_include_pad": 0} if kind == "average" else {}
        return net.node({"average": "AveragePool", "max": "MaxPool"}[kind], [x], name, kernel_shape=[3, 3], strides=[stride] * 2, pads=pads, **attributes)

    def block(x, name, channels):
        ones, (reduce3, three), (reduce33, double), kind, projection = BLOCKS[name]
        stride = 1 if ones else 2
        parts = [conv(x, f"{name}.1x1", channels, ones, 1)] if ones else []
        parts.append(conv(conv(x, f"{name}.3x3.reduce", channels, reduce3, 1), f"{name}.3x3", reduce3, three, 3, stride, 1))
        y = conv(conv(x, f"{name}.double.reduce", channels, reduce33, 1), f"{name}.double.1", reduce33, double, 3, 1, 1)
        parts.append(conv(y, f"{name}.double.2", double, double, 3, stride, 1))
        y = pool(x, f"{name}.pool", kind, stride)
        parts.append(conv(y, f"{name}.projection", channels, projection, 1) if projection else y)
        return net.node("Concat", parts, name, axis=1), ones + three + double + (projection or channels)

    def loss(logits, name):
        return net.node("SoftmaxCrossEntropyLoss", [logits, "labels"], name)

    def auxiliary(x, name, channels, extent):
        side = (extent - 5) // 3 + 1
        y = net.node("AveragePool", [x], f"{name}.pool", kernel_shape=[5, 5], strides=[3, 3])
        y = net.node("Flatten", [conv(y, f"{name}.conv", channels, 128, 1)], f"{name}.flat")
        y = net.relu(net.linear(y, f"{name}.fc1", 128 * side * side, 1024), f"{name}.relu")
        return loss(net.linear(y, f"{name}.logits", 1024, classes), f"{name}.loss")

    net.input("labels", ["batch"], INT64)
    x = pool(conv(net.input("x", ["batch", 3, 224, 224]), "conv1", 3, 64, 7, 2, 3), "pool1", "max", 2)
    x = pool(conv(conv(x, "conv2.reduce", 64, 64, 1), "conv2", 64, 192, 3, 1, 1), "pool2", "max", 2)
    channels, losses = 192, []
    for name in BLOCKS:
        x, channels = block(x, name, channels)
        if name in AUXILIARY:
            losses.append(auxiliary(x, AUXILIARY[name], channels, 14 if name == "3c" else 7))
    x = net.node("Flatten", [net.node("GlobalAveragePool", [x], "pool5")], "flat")
    logits = net.linear(x, "logits", channels, classes)
    both = net.node("Mul", [net.node("Add", losses, "aux.losses"), net.constant("aux.share", 0.3, np.float32)], "aux.loss")
    net.node("Add", [loss(logits, "main.loss"), both], "loss")
    net.output("loss", [])
    net.output(logits, ["batch", classes])


def dcgan(net, options):
    """Builds real [batch,3,64,64] -> d_loss, g_loss, fake [batch,3,64,64] (Radford et al. 2016, arXiv:1511.06434, figure 1 and section 3): noise of 100 numbers becomes a
    4x4 map, whose side four transposed convolutions double; the discriminator halves it by strides, and has no batch norm at its input. Weights are N(0, 0.02). The losses
    are binary cross entropies of the discriminator's logits."""
    net.opset = 16
    width, colours, noise = options.channels, 3, 100

    def weight(name, shape):
        return net.constant(name, net.rng.normal(0, 0.02, shape), np.float32)

    def norm(x, name, channels, applied=""):
        """applied: to "real" or "fake" pictures, by norms that share their parameters and running statistics."""
        parts = [f"{name}.{part}" for part in ("scale", "bias", "mean", "var")]
        if applied != "fake":
            for part, value in zip(parts, (1, 0, 0, 1)):
                net.parameter(part, (channels,), value=value)
        return net.node("BatchNormalization", [x, *parts], f"{name}.{applied or 'y'}")

    def up(x, name, c_in, c_out):
        return net.node("ConvTranspose", [x, weight(f"{name}.weight", (c_in, c_out, 5, 5))], name, kernel_shape=[5, 5], strides=[2, 2], pads=[2] * 4, output_padding=[1, 1])

    def generator():
        y = net.node("RandomNormal", [], "noise", shape=[options.batch, noise, 1, 1])
        y = net.node("ConvTranspose", [y, weight("g.project.weight", (noise, 8 * width, 4, 4))], "g.project", kernel_shape=[4, 4])
        for layer, (c_in, c_out) in enumerate(((8, 4), (4, 2), (2, 1)), 1):
            y = net.relu(norm(y, f"g.bn{layer}", c_in * width), f"g.relu{layer}")
            y = up(y, f"g.up{layer}", c_in * width, c_out * width)
        y = up(net.relu(norm(y, "g.bn4", width), "g.relu4"), "g.up4", width, colours)
        bias = net.parameter("g.bias", (colours, 1, 1))
        return net.node("Tanh", [net.node("Add", [y, bias], "g.biased")], "fake")

    def discriminator(x, applied):
        channels = [colours, width, 2 * width, 4 * width, 8 * width]
        for layer, (c_in, c_out) in enumerate(zip(channels, channels[1:]), 1):
            if applied == "real":
                weight(f"d.conv{layer}.weight", (c_out, c_in, 5, 5))
            x = net.node("Conv", [x, f"d.conv{layer}.weight"], f"d.conv{layer}.{applied}", kernel_shape=[5, 5], strides=[2, 2], pads=[2] * 4)
            if layer > 1:
                x = norm(x, f"d.bn{layer}", c_out, applied)
            x = net.node("LeakyRelu", [x], f"d.relu{layer}.{applied}", alpha=0.2)
        if applied == "real":
            weight("d.logits.weight", (8 * width * 16, 1))
            net.parameter("d.logits.bias", (1,))
        return net.node("Gemm", [net.node("Flatten", [x], f"d.flat.{applied}"), "d.logits.weight", "d.logits.bias"], f"d.logits.{applied}")

    def mean(x, name):
        return net.node("ReduceMean", [x], name, keepdims=0)

    net.input("real", [options.batch, colours, 64, 64])
    fake = generator()
    on_real, on_fake = discriminator("real", "real"), discriminator(fake, "fake")
    missed = mean(net.node("Softplus", [net.node("Neg", [on_real], "minus.real")], "missed"), "missed.loss")
    fooled = mean(net.node("Softplus", [on_fake], "fooled"), "fooled.loss")
    net.node("Add", [missed, fooled], "d_loss")
    mean(net.node("Softplus", [net.node("Neg", [on_fake], "minus.fake")], "caught"), "g_loss")
    net.output("d_loss", []).output("g_loss", []).output("fake", [options.batch, colours, 64, 64])
