# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faster R-CNN (Ren et al. 2015, arXiv:1506.01497) as training graphs which end in their four losses: both stages are trained in one step (section 3.2, approximate joint training).

image [batch,3,S,S], boxes [batch,M,4] (x1,y1,x2,y2 in pixels of the picture), labels int64 [batch,M] (0 to K-1; padding: -1, with a box of zeros)
-> loss, rpn_class_loss, rpn_box_loss, class_loss, box_loss, scores [batch,R,K] (softmax, without the background; 0 where there are fewer than R proposals),
detections [batch,R,4] (pixels, of the class with the largest score, before any suppression of doubles).

Thresholds, codes and what is clipped are as in torchvision.models.detection. What differs from the paper like that: anchors that reach beyond the picture are trained, RoiAlign
(He et al. 2017, arXiv:1703.06870) takes the place of RoI pooling, and a class is chosen from all boxes below the overlap of 0.5, not from those above 0.1. Names of parameters are
torchvision's. The scores and detections are those of the best R proposals, and depend on the pictures alone; the losses are those of sampled boxes. They share all parameters.
"""
from dataclasses import dataclass

import numpy as np
from boxes import Formula, best_truth, count, decode, encode, head_rows, masked_sum, overlaps, real, sample, smooth_l1, truths_of
from ssd_networks import inputs, small_backbone, vgg_convs

RPN_WEIGHTS = (1.0, 1.0, 1.0, 1.0)
WEIGHTS = (10.0, 10.0, 5.0, 5.0)  # of the second stage's codes
BETA = 1 / 9  # of both smooth L1 losses


@dataclass
class Sizes:
    """What differs between the networks. Numbers of boxes are those of one picture."""
    side: int  # pixels of a side of the picture
    stride: int  # pixels between places of the map
    channels: int  # of the map
    extent: int  # of the map
    scales: tuple  # sides of square anchors, in pixels
    hidden: int  # width of the two linear layers
    pooled: int  # side of the map of a box behind RoiAlign
    before: int  # best anchors that go into the suppression of doubles
    proposals: int  # that come out of it, for training
    detected: int  # best proposals whose scores and boxes are outputs
    anchors_drawn: int = 256  # section 3.1.3
    rois_drawn: int = 128  # Girshick 2015 (arXiv:1504.08083), section 2.3: 64, from each of two pictures; later programs draw 128
    ratios: tuple = (0.5, 1.0, 2.0)  # height by width
    suppress: float = 0.7  # a proposal that overlaps a better one by more is dropped


def anchor_boxes(sizes):
    """Returns anchors float32 [A,4] in pixels (section 3.1.1): at each place of the map each scale with each ratio, of the same area, with rounded corners, around the place's corner."""
    tall = np.sqrt(np.array(sizes.ratios, np.float32))
    scales = np.array(sizes.scales, np.float32)
    widths, heights = np.outer(np.float32(1) / tall, scales).ravel(), np.outer(tall, scales).ravel()
    cell = np.round(np.stack([-widths, -heights, widths, heights], 1) / np.float32(2))
    places = np.arange(sizes.extent, dtype=np.float32) * np.float32(sizes.stride)
    y, x = np.meshgrid(places, places, indexing="ij")
    shifts = np.stack([x.ravel(), y.ravel(), x.ravel(), y.ravel()], 1)
    return (shifts[:, None] + cell[None]).reshape(-1, 4).astype(np.float32)


def normal_conv(net, x, name, c_in, c_out, kernel, deviation=0.01):
    """A convolution with weights N(0, deviation^2); the paper's new layers have 0.01 (section 3.1.3)."""
    weight = net.parameter(f"{name}.weight", (c_out, c_in, kernel, kernel), fan_in=2 / deviation ** 2)
    return net.node("Conv", [x, weight, net.parameter(f"{name}.bias", (c_out,))], name, kernel_shape=[kernel] * 2, pads=[kernel // 2] * 4)


def region_heads(net, f, x, sizes):
    """Builds the network of proposals (section 3.1). Returns logits [B,A] of there being an object, and codes [B,A,4]."""
    cells = len(sizes.scales) * len(sizes.ratios)
    y = net.relu(normal_conv(net, x, "rpn.head.conv.0.0", sizes.channels, sizes.channels, 3), "rpn.head.conv.0.1")
    logits = f.reshape(f("Transpose", normal_conv(net, y, "rpn.head.cls_logits", sizes.channels, cells, 1), perm=[0, 2, 3, 1]), 0, -1, to="rpn.logits")
    return logits, head_rows(f, normal_conv(net, y, "rpn.head.bbox_pred", sizes.channels, 4 * cells, 1), 4, to="rpn.codes")


def region_match(f, truths, labels, anchors):
    """Says which anchors are positive and which negative (section 3.1.2): those that overlap a true box by 0.7 or, with any overlap, most of all anchors; and those below 0.3 of
    each. Returns truth values [B,A] for both, and the number of the true box that an anchor overlaps most [B,A]."""
    ratios = overlaps(f, truths, labels, anchors[None])
    most, nearest = best_truth(f, ratios)
    best = f("And", f("Equal", ratios, f.largest(ratios, 2, keepdims=1)), f("Greater", ratios, 0.0))
    forced = f("Greater", f.largest(f.number(best), 1), 0.5)
    positive = f("Or", f("GreaterOrEqual", most, 0.7), forced)
    negative = f("And", f("Less", most, 0.3), f("Not", forced))
    return positive, negative, nearest


def region_losses(f, logits, codes, truths, labels, anchors, drawn):
    """Returns the two losses of the first stage (equation 1) over `drawn` anchors of a picture, half of them positive if there are so many: logistic loss, and smooth L1 of the codes.
    Both are divided by the number of anchors that are drawn, as in torchvision."""
    positive, negative, nearest = region_match(f, truths, labels, anchors)
    drawn = min(drawn, len(anchors))
    places, counts = sample(f, positive, negative, drawn, max(drawn // 2, 1))
    hit = picked(f, positive, places, counts)
    logit = f.rows(logits, places)
    entropy = f("Softplus", f("Where", hit, f("Neg", logit), logit))
    total = count(f, counts)
    class_loss = f("Div", masked_sum(f, counts, entropy), total, to="rpn_class_loss")
    boxes, _ = truths_of(f, truths, labels, f.rows(nearest, places))
    target = encode(f, boxes, f("Gather", anchors, places, axis=0), RPN_WEIGHTS)
    distance = f.sum(smooth_l1(f, f.rows(codes, places), target, BETA), [2])
    return class_loss, f("Div", masked_sum(f, hit, distance), total, to="rpn_box_loss")


def picked(f, mask, places, counts):
    """Returns [B,S]: whether the box at a place is in the mask [B,A], and the place counts."""
    return f("And", f("Greater", f.rows(f.number(mask), places), 0.5), counts)


def propose(f, logits, codes, anchors, sizes):
    """Returns the best boxes of the first stage [B,proposals,4], best first, and which of them there are [B,proposals]: the `before` best anchors' boxes, without those that
    overlap a better one by more than 0.7 (section 3.1.3). No gradient goes through."""
    before = min(sizes.before, len(anchors))
    logits, codes = f.stop(logits), f.stop(codes)
    best, places = f.top(logits, before)
    boxes = decode(f, f.rows(codes, places), f("Gather", anchors, places, axis=0), RPN_WEIGHTS, sizes.side)
    low, high = f("Split", boxes, outputs=2, axis=-1)
    wide = f("GreaterOrEqual", f("ReduceMin", f("Sub", high, low), axes=[2], keepdims=0), 1e-3)
    scores = f("Where", wide, f("Sigmoid", best), -1.0)
    chosen = f("NonMaxSuppression", boxes, f.unsqueeze(scores, 1), np.array([before]), np.array([sizes.suppress], np.float32), np.array([0.0], np.float32))
    # The number of rows depends on the data up to here; behind the mask no shape does.
    first = f("Gather", chosen, 0, axis=1)
    ones = f.number(f("Equal", first, first))
    kept = f("ScatterND", f("Sub", scores, scores), f("Gather", chosen, np.array([0, 2]), axis=1), ones)
    ranked, order = f.top(f("Where", f("Greater", kept, 0.5), scores, -1.0), min(sizes.proposals, before))
    return f.rows(boxes, order, to="proposals"), f("GreaterOrEqual", ranked, 0.0, to="proposals.exist")


def draw_rois(f, proposals, exists, truths, labels, sizes):
    """Draws the boxes that the second stage learns from, out of proposals and true boxes: a quarter with an overlap of 0.5 or more (Girshick 2015, section 2.3).

    Returns boxes [B,S,4], labels int64 [B,S] (0: background, -1: does not count) and codes to learn [B,S,4].
    """
    candidates = f("Concat", proposals, truths, axis=1)
    exists = f("Concat", exists, real(f, labels), axis=1)
    most, nearest = best_truth(f, overlaps(f, truths, labels, candidates))
    near = f("GreaterOrEqual", most, 0.5)
    positive, negative = f("And", exists, near), f("And", exists, f("Not", near))
    size = sizes.rois_drawn
    places, counts = sample(f, positive, negative, size, max(size // 4, 1))
    rois = f.rows(candidates, places, to="rois")
    hit = picked(f, positive, places, counts)
    boxes, label = truths_of(f, truths, labels, f.rows(nearest, places))
    label = f("Where", hit, f("Add", label, 1), f("Where", counts, 0, -1), to="rois.labels")
    return rois, label, encode(f, boxes, rois, WEIGHTS, to="rois.targets")


class BoxHead:
    """The second stage: RoiAlign, two linear layers, and from them logits of the classes, and codes for each class (Girshick 2015, section 2.1). Calls share the parameters."""

    def __init__(self, net, x, sizes, classes):
        self.net, self.x, self.sizes, self.classes = net, x, sizes, classes + 1
        width, hidden = sizes.channels * sizes.pooled ** 2, sizes.hidden
        layers = (("box_head.fc6", width, hidden, width), ("box_head.fc7", hidden, hidden, hidden), ("box_predictor.cls_score", hidden, self.classes, 2 / 0.01 ** 2),
                  ("box_predictor.bbox_pred", hidden, 4 * self.classes, 2 / 0.001 ** 2))  # the last two start as N(0, 0.01^2) and N(0, 0.001^2)
        for name, width_in, width_out, fan_in in layers:
            net.parameter(f"roi_heads.{name}.weight", (width_in, width_out), fan_in=fan_in)
            net.parameter(f"roi_heads.{name}.bias", (width_out,))

    def __call__(self, f, rois, number):
        """Returns logits [B*R,K+1] and codes [B*R,K+1,4] of boxes [B,R,4]; number: R."""
        pictures = f("Range", 0, f("Gather", f("Shape", self.x), 0, axis=0), 1)
        owners = f.reshape(f("Add", f.unsqueeze(pictures, 1), np.zeros((1, number), np.int64)), -1)
        side = self.sizes.pooled
        x = f("RoiAlign", self.x, f.reshape(rois, -1, 4), owners, output_height=side, output_width=side, sampling_ratio=2, spatial_scale=1 / self.sizes.stride, mode="avg",
              coordinate_transformation_mode="output_half_pixel")
        x = f("Flatten", x)
        for name in ("box_head.fc6", "box_head.fc7"):
            x = f("Relu", self.linear(f, x, name))
        return self.linear(f, x, "box_predictor.cls_score"), f.reshape(self.linear(f, x, "box_predictor.bbox_pred"), -1, self.classes, 4)

    def linear(self, f, x, name):
        return f("Gemm", x, f"roi_heads.{name}.weight", f"roi_heads.{name}.bias")


def roi_losses(f, logits, codes, labels, targets):
    """Returns the two losses of the second stage (Girshick 2015, section 2.3), each divided by the number of boxes that count: cross entropy, and smooth L1 of the codes for the
    right class of what is no background. logits: [B*S,K+1], codes: [B*S,K+1,4], labels: int64 [B,S], targets: [B,S,4]."""
    total = count(f, real(f, labels))
    labels = f.reshape(labels, -1)
    entropy = f("SoftmaxCrossEntropyLoss", logits, labels, reduction="sum", ignore_index=-1)
    hit = f("Greater", labels, 0)
    distance = f.sum(smooth_l1(f, f.rows(codes, f("Where", hit, labels, 0)), f.reshape(targets, -1, 4), BETA), [1])
    return f("Div", entropy, total, to="class_loss"), f("Div", f.sum(f("Where", hit, distance, 0.0), [0]), total, to="box_loss")


def detect(f, head, proposals, exists, sizes):
    """Writes `scores` and `detections` of the best proposals, which come first."""
    number, classes = min(sizes.detected, sizes.proposals), head.classes
    rois, exists = f.cut(proposals, 0, number, 1), f.cut(exists, 0, number, 1)
    logits, codes = head(f, rois, number)
    chances = f.cut(f.reshape(f("Softmax", logits, axis=-1), -1, number, classes), 1, classes, 2)
    scores = f("Where", f.unsqueeze(exists, 2), chances, 0.0, to="scores")
    best = f("Add", f("ArgMax", scores, axis=2, keepdims=0), 1)
    codes = f.reshape(f.rows(codes, f.reshape(best, -1)), -1, number, 4)
    decode(f, codes, rois, WEIGHTS, sizes.side, to="detections")
    return number


def faster_rcnn(net, x, sizes, options):
    """Adds both stages, losses and outputs behind a map x [B,channels,extent,extent]."""
    f, anchors = Formula(net, "rpn"), anchor_boxes(sizes)
    logits, codes = region_heads(net, f, x, sizes)
    losses = list(region_losses(f.scope("rpn.loss"), logits, codes, "boxes", "labels", anchors, sizes.anchors_drawn))
    proposals, exists = propose(f.scope("propose"), logits, codes, anchors, sizes)
    head, f = BoxHead(net, x, sizes, options.classes), Formula(net, "roi")
    rois, labels, targets = draw_rois(f, proposals, exists, "boxes", "labels", sizes)
    losses += roi_losses(f, *head(f, rois, sizes.rois_drawn), labels, targets)
    f("Sum", *losses, to="loss")
    number = detect(f.scope("detect"), head, proposals, exists, sizes)
    for name in ["loss"] + losses:
        net.output(name, [])
    net.output("scores", ["batch", number, options.classes]).output("detections", ["batch", number, 4])


def faster_rcnn_small(net, options):
    """Builds a map of an eighth of the picture, with nine anchors at each place: 576 for pictures of 64 pixels."""
    extent = options.size // 8
    sizes = Sizes(side=options.size, stride=8, channels=64, extent=extent, scales=(12, 20, 32), hidden=128, pooled=4, before=128, proposals=64, detected=32, anchors_drawn=64,
                  rois_drawn=32)
    faster_rcnn(net, small_backbone(net, inputs(net, sizes.side, options), "backbone"), sizes, options)


def faster_rcnn_vgg16(net, options):
    """Builds the network of the paper: the convolutions of VGG-16, nine anchors at each place of a map of a sixteenth, 2000 proposals for training, and 300 for detection."""
    sizes = Sizes(side=options.size, stride=16, channels=512, extent=options.size // 16, scales=(128, 256, 512), hidden=4096, pooled=7, before=2000, proposals=2000, detected=300)
    x = inputs(net, sizes.side, options)
    for stage in range(5):
        x = vgg_convs(net, x, stage, "backbone")
        if stage < 4:
            x = net.max_pool(x, f"backbone.pool{stage + 1}")
    faster_rcnn(net, x, sizes, options)
