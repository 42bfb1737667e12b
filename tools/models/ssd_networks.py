# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""SSD detectors (Liu et al. 2016, arXiv:1512.02325) as training graphs which end in their losses, with torchvision's names of parameters where it has the network.

image [batch,3,S,S], boxes [batch,M,4] (x1,y1,x2,y2 in pixels of the picture), labels int64 [batch,M] (0 to K-1; padding: -1, with a box of zeros)
-> loss, class_loss, box_loss, scores [batch,A,K] (softmax, without the background), detections [batch,A,4] (pixels, before any suppression of doubles).
"""
import math

import numpy as np
from boxes import Formula, best_truth, count, decode, encode, head_rows, masked_sum, overlaps, real, smooth_l1, truths_of
from network import INT64

WEIGHTS = (10.0, 10.0, 5.0, 5.0)  # of the codes of x, y, width and height: the variances 0.1 and 0.2 of the authors' program
# Stages of VGG-16 (Simonyan and Zisserman 2014, arXiv:1409.1556, table 1, D): the place of each convolution in torchvision's `features`, and its channels.
VGG_STAGES = (((0, 64), (2, 64)), ((5, 128), (7, 128)), ((10, 256), (12, 256), (14, 256)), ((17, 512), (19, 512), (21, 512)), ((24, 512), (26, 512), (28, 512)))
# (channels of the 1x1, of the 3x3, stride, padding) of conv8 to conv11: figure 2.
EXTRAS = ((256, 512, 2, 1), (128, 256, 2, 1), (128, 256, 1, 0), (128, 256, 1, 0))
SSD300_SCALES = (0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05)  # of the authors' program for COCO, and torchvision's
SSD300_STEPS = (8, 16, 32, 64, 100, 300)  # pixels from box to box


def default_boxes(side, maps, ratios, scales, steps):
    """Returns the default boxes float32 [A,4] in pixels, x1,y1,x2,y2, of square maps (section 2.2): scale s_k with ratio 1, sqrt(s_k s_k+1) with ratio 1, and s_k with each ratio and
    its inverse. Widths and heights are at most the picture's."""
    boxes = []
    for k, extent in enumerate(maps):
        pairs = [(scales[k], scales[k]), (math.sqrt(scales[k] * scales[k + 1]),) * 2]
        for ratio in ratios[k]:
            wide, narrow = scales[k] * math.sqrt(ratio), scales[k] / math.sqrt(ratio)
            pairs += [(wide, narrow), (narrow, wide)]
        pairs = np.minimum(np.array(pairs, np.float32), np.float32(1))
        middles = ((np.arange(extent) + 0.5) / np.float32(side / steps[k])).astype(np.float32)
        y, x = np.meshgrid(middles, middles, indexing="ij")
        centres = np.repeat(np.stack([x.ravel(), y.ravel()], 1), len(pairs), 0)
        sizes = np.tile(pairs, (extent * extent, 1))
        half = np.float32(0.5) * sizes
        boxes.append(np.concatenate([centres - half, centres + half], 1) * np.float32(side))
    return np.concatenate(boxes)


def match(f, truths, labels, anchors, bound, threshold=0.5):
    """Gives each default box a true one (section 2.2): the one that overlaps it most, if by the threshold; but each true box takes its best default box, whatever overlaps that more.

    anchors: float32 [A,4], bound: M. Returns which default boxes have a true one [B,A], its number int64 [B,A], and the class of each [B,A], 0 for the background.
    """
    ratios = overlaps(f, truths, labels, anchors[None])
    most, nearest = best_truth(f, ratios)
    best = f.unsqueeze(f("ArgMax", ratios, axis=2, keepdims=0), 2)
    takes = f("And", f("Equal", best, np.arange(len(anchors))[None, None]), f.unsqueeze(real(f, labels), 2))
    # Of two true boxes with the same best default box the later one takes it, as in torchvision. Numbers count from 1 here, so that 0 is none.
    taker = f.largest(f("Where", takes, np.arange(1, bound + 1, dtype=np.float32)[None, :, None], 0.0), 1)
    taken = f("Greater", taker, 0.5)
    found = f("Or", taken, f("GreaterOrEqual", most, threshold))
    return found, f("Where", taken, f("Sub", f.integer(taker), 1), nearest)


def hardest(f, losses, found, anchors, ratio=3.0):
    """Chooses `ratio` times as many default boxes of the background as have a true box, in each picture those with the largest loss (section 2.2, hard negative mining).

    losses: [B,A], found: [B,A]. Returns truth values [B,A]. Where the background is too small for the ratio it is chosen as a whole. (torchvision counts losses of the
    foreground twice then.)
    """
    wanted = f("Mul", f.sum(f.number(found), [1], keepdims=1), ratio)
    _, order = f.top(f("Where", found, -1.0, losses), anchors)  # cross entropies are not negative, so the foreground comes last
    hit = f.number(f("Less", np.arange(anchors, dtype=np.float32)[None], wanted))
    # The ranks go back to their places. No two of them are equal, so that equal losses do not make the number larger.
    chosen = f("ScatterElements", f("Sub", hit, hit), order, hit, axis=1)
    return f("And", f("Greater", chosen, 0.5), f("Not", found))


def losses(f, logits, codes, truths, labels, anchors, bound, classes):
    """Returns both losses of section 2.2, each divided by the number of matched default boxes of all pictures: softmax cross entropy, and smooth L1 of the codes.

    logits: [B,A,K+1], codes: [B,A,4], anchors: float32 [A,4]. The targets are made of inputs and constants alone, so that no gradient goes through them.
    """
    number = len(anchors)
    found, nearest = match(f, truths, labels, anchors, bound)
    boxes, label = truths_of(f, truths, labels, nearest)
    target = f("Where", found, f("Add", label, 1), 0)
    entropy = f("SoftmaxCrossEntropyLoss", f.reshape(logits, -1, classes + 1), f.reshape(target, -1), reduction="none")
    entropy = f.reshape(entropy, -1, number)
    matched = count(f, found)
    class_loss = f("Div", masked_sum(f, f("Or", found, hardest(f, entropy, found, number)), entropy), matched, to="class_loss")
    distance = smooth_l1(f, codes, encode(f, boxes, anchors[None], WEIGHTS), 1.0)
    box_loss = f("Div", masked_sum(f, found, f.sum(distance, [2])), matched, to="box_loss")
    return class_loss, box_loss


def ssd(net, maps, anchors, counts, side, options):
    """Adds heads (section 2.1: 3x3 convolutions), losses and outputs behind the inputs.

    maps: (value, channels) of each feature map, anchors: float32 [A,4] in their order, counts: default boxes of a place of each map.
    """
    f, classes, bound = Formula(net, "ssd"), options.classes, options.boxes

    def head(name, columns):
        parts = []
        for k, ((x, channels), boxes) in enumerate(zip(maps, counts)):
            y = net.conv(x, f"head.{name}.module_list.{k}", channels, boxes * columns, 3, pad=1)
            parts.append(head_rows(f, y, columns))
        return f("Concat", *parts, axis=1, to=f"{name}.rows")

    logits, codes = head("classification_head", classes + 1), head("regression_head", 4)
    f("Add", *losses(f.scope("loss"), logits, codes, "boxes", "labels", anchors, bound, classes), to="loss")
    f = f.scope("detect")
    f("Slice", f("Softmax", logits, axis=-1), [1], [classes + 1], [2], to="scores")
    decode(f, codes, anchors[None], WEIGHTS, side, to="detections")
    for name in ("loss", "class_loss", "box_loss"):
        net.output(name, [])
    net.output("scores", ["batch", len(anchors), classes]).output("detections", ["batch", len(anchors), 4])


def inputs(net, side, options):
    """Adds the inputs of a detector, and returns the pictures."""
    net.opset = 17
    net.input("image", ["batch", 3, side, side])
    net.input("boxes", ["batch", options.boxes, 4])
    net.input("labels", ["batch", options.boxes], INT64)
    return "image"


def small_backbone(net, x, prefix):
    """Builds convolutions of 3x3 with batch norm and ReLU whose map of 64 channels is an eighth of the picture."""
    for k, (c_in, c_out) in enumerate(((3, 16), (16, 32), (32, 64))):
        x = net.max_pool(conv_norm(net, x, f"{prefix}.{k}", c_in, c_out), f"{prefix}.{k}.pool")
    return conv_norm(net, x, f"{prefix}.3", 64, 64)


def conv_norm(net, x, name, c_in, c_out, stride=1):
    return net.relu(net.batch_norm(net.conv(x, name, c_in, c_out, 3, stride, 1, bias=False), f"{name}.bn", c_out), f"{name}.relu")


def ssd_small(net, options):
    """Builds three maps, an eighth, a sixteenth and a thirty-second of the picture, with four default boxes at each place: 336 for pictures of 64 pixels."""
    side = options.size
    x = small_backbone(net, inputs(net, side, options), "backbone.features")
    maps = [(x, 64)]
    for k in range(2):
        x = conv_norm(net, x, f"backbone.extra.{k}", 64, 64, 2)
        maps.append((x, 64))
    extent = side // 8
    extents = (extent, (extent + 1) // 2, (extent + 3) // 4)
    anchors = default_boxes(side, extents, [[2]] * 3, (0.2, 0.35, 0.6, 0.9), (8, 16, 32))
    ssd(net, maps, anchors, [4] * 3, side, options)


def vgg_convs(net, x, stage, prefix, first=0):
    """Builds the convolutions of a stage of VGG-16; `first` is the number of the first layer in the module that `prefix` names."""
    c_in = VGG_STAGES[stage - 1][-1][1] if stage else 3
    for place, c_out in VGG_STAGES[stage]:
        name = f"{prefix}.{place - first}"
        x, c_in = net.relu(net.conv(x, name, c_in, c_out, 3, pad=1), f"{name}.relu"), c_out
    return x


def scaled_norm(net, x, name, channels, start=20.0):
    """Divides each place by its L2 norm over the channels, and multiplies by a factor for each that is learned (section 3.1; Liu et al. 2015, arXiv:1506.04579)."""
    f = Formula(net, name)
    # The bound is below the root: its derivative is infinite at 0, where ReLU has left nothing of a place.
    norm = f("Sqrt", f("Max", f("ReduceSumSquare", x, axes=[1], keepdims=1), 1e-24))
    return f("Mul", f("Div", x, norm), net.parameter(f"{name}.scale_weight", (channels, 1, 1), value=start))


def ssd300(net, options):
    """Builds SSD300 on VGG-16 with 8732 default boxes (section 2.1, figure 2; conv10 and conv11 without padding)."""
    side = 300
    x = inputs(net, side, options)
    for stage in range(3):
        x = vgg_convs(net, x, stage, "backbone.features")
        # The map of 75 pixels gets a last window that reaches beyond it, as with ceil mode: 38.
        x = net.node("MaxPool", [x], f"backbone.pool{stage + 1}", kernel_shape=[2, 2], strides=[2, 2], pads=[0, 0, 1, 1] if stage == 2 else [0] * 4)
    x = vgg_convs(net, x, 3, "backbone.features")
    maps = [(scaled_norm(net, x, "backbone", 512), 512)]
    x = vgg_convs(net, net.max_pool(x, "backbone.pool4"), 4, "backbone.extra.0", first=23)
    x = net.node("MaxPool", [x], "backbone.pool5", kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4)
    x = net.relu(net.conv(x, "backbone.extra.0.7.1", 512, 1024, 3, pad=6, dilation=6), "fc6.relu")
    x = net.relu(net.conv(x, "backbone.extra.0.7.3", 1024, 1024, 1), "fc7.relu")
    channels = 1024
    maps.append((x, channels))
    for k, (narrow, wide, stride, pad) in enumerate(EXTRAS, 1):
        name = f"backbone.extra.{k}"
        x = net.relu(net.conv(x, f"{name}.0", channels, narrow, 1), f"{name}.1")
        x = net.relu(net.conv(x, f"{name}.2", narrow, wide, 3, stride, pad), f"{name}.3")
        channels = wide
        maps.append((x, channels))
    ratios = [[2], [2, 3], [2, 3], [2, 3], [2], [2]]
    anchors = default_boxes(side, (38, 19, 10, 5, 3, 1), ratios, SSD300_SCALES, SSD300_STEPS)
    ssd(net, maps, anchors, [2 + 2 * len(r) for r in ratios], side, options)
