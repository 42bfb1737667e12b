#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the detectors of tools/models, as ONNX graphs, with torchvision: default boxes and anchors, feature maps, targets, losses, proposals and detections.

usage: detection.py [--large] [--reference]
Runs the graphs by onnxruntime or, with --reference or without that package, by onnx's own evaluator, which takes minutes. Sampling is compared where it takes everything, and by its numbers elsewhere. --large also compares
SSD300 and Faster R-CNN on VGG-16 from pictures to losses, in 3 GB of memory. Needs torch and torchvision; mpc is not run. Exits with status 1 if a check fails.
"""
import argparse
import importlib.util
import os
import sys

import numpy as np
import onnx
import torch
import torchvision
from torch import nn
from torch.nn import functional
from torchvision.models.detection import _utils, anchor_utils, roi_heads, rpn, ssd

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "tools", "models")]
import boxes as box_formulas  # noqa: E402
import faster_rcnn_networks as faster_rcnn  # noqa: E402
import make_shapes  # noqa: E402
import network  # noqa: E402
import ssd_networks  # noqa: E402

BOUND, CLASSES, BATCH, SIDE = 8, 3, 4, 64


class Checks:
    def __init__(self):
        self.failed = self.passed = 0

    def __call__(self, name, good, detail=""):
        self.passed += bool(good)
        self.failed += not good
        print(f"{'ok  ' if good else 'FAIL'}  {name}{': ' if detail else ''}{detail}", flush=True)

    def near(self, name, ours, theirs, bound):
        """Compares pairs of arrays: the largest difference, relative to the largest number that is compared or to 1."""
        worst = 0.0
        for a, b in zip(ours, theirs, strict=True):
            a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
            same = a.shape == b.shape and np.isfinite(a).all()
            worst = max(worst, np.abs(a - b).max(initial=0) / max(1, np.abs(b).max(initial=0)) if same else np.inf)
        self(name, worst <= bound, f"largest difference {worst:.2g}")


class Graph:
    """Runs a network whose outputs are its own and the values of `names`."""
    reference = False

    def __init__(self, net, names=()):
        self.proto = net.proto()
        present = [output.name for output in self.proto.graph.output]
        # The type of a value that becomes an output must be said, the shape need not be.
        types = {value.name: value for value in onnx.shape_inference.infer_shapes(self.proto).graph.value_info} if names else {}
        for name in names:
            if name not in present:
                self.proto.graph.output.append(onnx.helper.make_tensor_value_info(name, types[name].type.tensor_type.elem_type, None))
        self.names = [output.name for output in self.proto.graph.output]
        if self.reference:
            from onnx.reference import ReferenceEvaluator
            self.session = ReferenceEvaluator(self.proto)
        else:
            import onnxruntime
            settings = onnxruntime.SessionOptions()
            settings.intra_op_num_threads = torch.get_num_threads()
            self.session = onnxruntime.InferenceSession(self.proto.SerializeToString(), settings)

    def __call__(self, **inputs):
        return dict(zip(self.names, self.session.run(None, inputs)))

    def weights(self):
        return {x.name: torch.from_numpy(onnx.numpy_helper.to_array(x).copy()) for x in self.proto.graph.initializer}


class Options:
    def __init__(self, classes=CLASSES, boxes=BOUND, size=SIDE):
        self.classes, self.boxes, self.size = classes, boxes, size


def build(writer, options, names=()):
    net = network.Network("network")
    writer(net, options)
    # Biases are zero at first; other numbers show whether each is in its place.
    random = np.random.default_rng(1)
    for tensor in net.initializers:
        if tensor.name.endswith(".bias"):
            tensor.CopyFrom(onnx.numpy_helper.from_array(random.normal(0, 0.1, tensor.dims).astype(np.float32), tensor.name))
    return Graph(net, names)


def targets(random, side=SIDE, batch=BATCH, bound=BOUND, classes=CLASSES, kind="mixed"):
    """Returns boxes float32 [batch,bound,4] and labels int64 [batch,bound]. kind: "mixed", "empty", "full" or "doubles", where true boxes have the same best default box."""
    boxes, labels = np.zeros((batch, bound, 4), np.float32), np.full((batch, bound), -1)
    for i in range(batch):
        number = {"empty": 0, "full": bound}.get(kind, random.integers(0, bound + 1))
        corner = random.uniform(0, 0.8 * side, (number, 2))
        size = random.uniform(0.05 * side, 0.7 * side, (number, 2))
        boxes[i, :number] = np.concatenate([corner, np.minimum(corner + size, side)], 1)
        if kind == "doubles":
            boxes[i, :number] = boxes[i, :1] + random.choice([0, 0.25], (number, 1))
        if i % 2:
            boxes[i] = np.round(boxes[i])
        labels[i, :number] = random.integers(0, classes, number)
    return boxes, labels


def torch_targets(boxes, labels):
    """Returns torchvision's form, whose class 0 is the background."""
    return [{"boxes": torch.from_numpy(b[row >= 0]), "labels": torch.from_numpy(row[row >= 0] + 1)} for b, row in zip(boxes, labels)]


KINDS = ("mixed", "mixed", "mixed", "empty", "full", "doubles", "doubles")


def ssd_of_torch(anchors, side, classes):
    """Makes torchvision's SSD without a network: its matching, losses and codes."""
    return ssd.SSD(nn.Identity(), anchors, (side, side), classes + 1, head=nn.Identity())


def ssd_losses(model, anchors, logits, codes, wanted):
    matches = [model.proposal_matcher(torchvision.ops.box_iou(t["boxes"], anchors)) if len(t["boxes"]) else torch.full((len(anchors),), -1) for t in wanted]
    return model.compute_loss(wanted, {"bbox_regression": codes, "cls_logits": logits}, [anchors] * len(wanted), matches)


def detections_of_ssd(model, anchors, logits, codes, side):
    decoded = torch.stack([torchvision.ops.clip_boxes_to_image(model.box_coder.decode_single(c, anchors), (side, side)) for c in codes])
    return torch.softmax(logits, -1)[..., 1:], decoded


def check_ssd_small(check, random):
    generator = anchor_utils.DefaultBoxGenerator([[2]] * 3, scales=[0.2, 0.35, 0.6, 0.9], steps=[8, 16, 32])
    # The generator gives parts of the picture's side.
    rows = generator._grid_default_boxes([[8, 8], [4, 4], [2, 2]], [SIDE, SIDE])
    anchors = torch.cat([rows[:, :2] - 0.5 * rows[:, 2:], rows[:, :2] + 0.5 * rows[:, 2:]], 1) * SIDE
    ours = ssd_networks.default_boxes(SIDE, (8, 4, 2), [[2]] * 3, (0.2, 0.35, 0.6, 0.9), (8, 16, 32))
    check("ssd_small: default boxes", np.array_equal(ours, anchors.numpy()), f"{len(ours)} boxes, largest difference {np.abs(ours - anchors.numpy()).max():.2g}")
    graph, model = build(ssd_networks.ssd_small, Options(), ("classification_head.rows", "regression_head.rows")), ssd_of_torch(generator, SIDE, CLASSES)
    found, expected, shown, decoded = [], [], [], []
    for i in range(42):
        image = random.normal(0, random.choice([0.1, 1, 3]), (BATCH, 3, SIDE, SIDE)).astype(np.float32)
        boxes, labels = targets(random, kind=KINDS[i % len(KINDS)])
        result = graph(image=image, boxes=boxes, labels=labels)
        logits, codes = (torch.from_numpy(result[f"{head}_head.rows"]) for head in ("classification", "regression"))
        losses = ssd_losses(model, anchors, logits, codes, torch_targets(boxes, labels))
        found += [result["class_loss"], result["box_loss"], result["loss"]]
        expected += [losses["classification"], losses["bbox_regression"], losses["classification"] + losses["bbox_regression"]]
        shown += [result["scores"], result["detections"]]
        decoded += detections_of_ssd(model, anchors, logits, codes, SIDE)
    check.near(f"ssd_small: losses of {len(found) // 3} batches with empty, full and equal targets", found, expected, 2e-6)
    check.near("ssd_small: scores and detections", shown, decoded, 2e-6)
    check_equal_losses(check, random, model, anchors)


def ssd_on_rows(anchors, bound=BOUND, classes=CLASSES):
    """Makes a graph of the losses alone, of logits [batch,A,K+1] and codes [batch,A,4]."""
    net = network.Network("losses", opset=17)
    net.input("logits", ["batch", len(anchors), classes + 1])
    net.input("codes", ["batch", len(anchors), 4])
    net.input("boxes", ["batch", bound, 4])
    net.input("labels", ["batch", bound], network.INT64)
    ssd_networks.losses(box_formulas.Formula(net, "loss"), "logits", "codes", "boxes", "labels", anchors, bound, classes)
    for name in ("class_loss", "box_loss"):
        net.output(name, [])
    return Graph(net)


def check_equal_losses(check, random, model, anchors):
    """Where all losses are equal, their number shows in the sum."""
    graph, found, expected = ssd_on_rows(anchors.numpy()), [], []
    for _ in range(10):
        boxes, labels = targets(random)
        logits, codes = np.zeros((BATCH, len(anchors), CLASSES + 1), np.float32), random.normal(0, 1, (BATCH, len(anchors), 4)).astype(np.float32)
        losses = ssd_losses(model, anchors, torch.from_numpy(logits), torch.from_numpy(codes), torch_targets(boxes, labels))
        result = graph(logits=logits, codes=codes, boxes=boxes, labels=labels)
        found += [result["class_loss"], result["box_loss"]]
        expected += [losses["classification"], losses["bbox_regression"]]
    check.near("ssd: as many hard negatives as torchvision among equal losses", found, expected, 2e-6)


def check_ssd300(check, random):
    options = Options(classes=20, boxes=64)
    graph = build(ssd_networks.ssd300, options, ("classification_head.rows", "regression_head.rows"))
    model = ssd.ssd300_vgg16(weights=None, weights_backbone=None, num_classes=21)
    weights = graph.weights()
    weights["backbone.scale_weight"] = weights["backbone.scale_weight"].reshape(-1)
    model.load_state_dict(weights)
    check("ssd300: parameters", True, f"all {len(weights)} have torchvision's names and shapes, {sum(w.numel() for w in weights.values())} numbers")
    image = random.normal(0, 1, (2, 3, 300, 300)).astype(np.float32)
    boxes, labels = targets(random, 300, 2, 64, 20)
    result = graph(image=image, boxes=boxes, labels=labels)
    with torch.no_grad():
        maps = list(model.backbone(torch.from_numpy(image)).values())
        rows = model.head(maps)
        anchors = model.anchor_generator(torchvision.models.detection.image_list.ImageList(torch.from_numpy(image), [(300, 300)] * 2), maps)[0]
        losses = ssd_losses(model, anchors, rows["cls_logits"], rows["bbox_regression"], torch_targets(boxes, labels))
        shown = detections_of_ssd(model, anchors, rows["cls_logits"], rows["bbox_regression"], 300)
    ours = ssd_networks.default_boxes(300, (38, 19, 10, 5, 3, 1), [[2], [2, 3], [2, 3], [2, 3], [2], [2]], ssd_networks.SSD300_SCALES, ssd_networks.SSD300_STEPS)
    check("ssd300: default boxes", len(ours) == 8732 and np.abs(ours - anchors.numpy()).max() < 1e-4, f"{len(ours)} boxes, largest difference {np.abs(ours - anchors.numpy()).max():.2g}")
    check.near("ssd300: logits and codes", [result["classification_head.rows"], result["regression_head.rows"]], [rows["cls_logits"], rows["bbox_regression"]], 2e-5)
    check.near("ssd300: losses", [result["class_loss"], result["box_loss"]], [losses["classification"], losses["bbox_regression"]], 2e-5)
    check.near("ssd300: scores and detections", [result["scores"], result["detections"]], shown, 2e-5)
    rows = {name: random.normal(0, 2, (2, 8732, n)).astype(np.float32) for name, n in (("logits", 21), ("codes", 4))}
    losses = ssd_losses(model, anchors, torch.from_numpy(rows["logits"]), torch.from_numpy(rows["codes"]), torch_targets(boxes, labels))
    result = ssd_on_rows(ours, 64, 20)(**rows, boxes=boxes, labels=labels)
    check.near("ssd300: losses of random logits and codes", [result["class_loss"], result["box_loss"]], [losses["classification"], losses["bbox_regression"]], 2e-5)


SMALL = dict(side=SIDE, stride=8, channels=64, extent=8, scales=(12, 20, 32), hidden=128, pooled=4, before=128, proposals=64, detected=32)


def region_of_torch(sizes, drawn, before, after):
    generator = anchor_utils.AnchorGenerator((sizes.scales,), (sizes.ratios,))
    return rpn.RegionProposalNetwork(generator, nn.Identity(), 0.7, 0.3, drawn, 0.5, dict(training=before, testing=before), dict(training=after, testing=after), 0.7)


def anchors_of_torch(model, sizes):
    images = torchvision.models.detection.image_list.ImageList(torch.zeros(1, 3, sizes.side, sizes.side), [(sizes.side, sizes.side)])
    return model.anchor_generator(images, [torch.zeros(1, 1, sizes.extent, sizes.extent)])[0]


def check_anchors(check):
    for sizes in (faster_rcnn.Sizes(**SMALL), faster_rcnn.Sizes(**{**SMALL, "side": 600, "stride": 16, "extent": 37, "scales": (128, 256, 512)})):
        ours, theirs = faster_rcnn.anchor_boxes(sizes), anchors_of_torch(region_of_torch(sizes, 1, 1, 1), sizes).numpy()
        check(f"faster_rcnn: anchors of {sizes.side} pixels", np.array_equal(ours, theirs), f"{len(ours)} boxes, largest difference {np.abs(ours - theirs).max():.2g}")


def region_inputs(net, number):
    net.input("logits", ["batch", number])
    net.input("codes", ["batch", number, 4])
    net.input("boxes", ["batch", BOUND, 4])
    net.input("labels", ["batch", BOUND], network.INT64)


def check_region_losses(check, random):
    """All anchors are drawn that may be: each picture has fewer positive ones than a half."""
    sizes = faster_rcnn.Sizes(**SMALL)
    anchors = faster_rcnn.anchor_boxes(sizes)
    number = len(anchors)
    net = network.Network("losses", opset=17)
    region_inputs(net, number)
    faster_rcnn.region_losses(box_formulas.Formula(net, "rpn"), "logits", "codes", "boxes", "labels", anchors, number)
    net.output("rpn_class_loss", []).output("rpn_box_loss", [])
    graph, model = Graph(net), region_of_torch(sizes, number, 128, 64)
    found, expected, positive = [], [], 0
    for i in range(42):
        boxes, labels = targets(random, kind=KINDS[i % len(KINDS)])
        logits, codes = random.normal(0, 2, (BATCH, number)).astype(np.float32), random.normal(0, 1, (BATCH, number, 4)).astype(np.float32)
        result = graph(logits=logits, codes=codes, boxes=boxes, labels=labels)
        all_anchors = [torch.from_numpy(anchors)] * BATCH
        states, matched = model.assign_targets_to_anchors(all_anchors, torch_targets(boxes, labels))
        wanted = model.box_coder.encode(matched, all_anchors)
        positive += int(sum((s == 1).sum() for s in states))
        found += [result["rpn_class_loss"], result["rpn_box_loss"]]
        expected += model.compute_loss(torch.from_numpy(logits).reshape(-1, 1), torch.from_numpy(codes).reshape(-1, 4), states, wanted)
    check.near(f"faster_rcnn: losses of the first stage, 42 batches with {positive} positive anchors", found, expected, 5e-6)


def check_proposals(check, random):
    sizes = faster_rcnn.Sizes(**SMALL)
    anchors = faster_rcnn.anchor_boxes(sizes)
    net = network.Network("proposals", opset=17)
    net.input("logits", ["batch", len(anchors)])
    net.input("codes", ["batch", len(anchors), 4])
    for name in faster_rcnn.propose(box_formulas.Formula(net, "propose"), "logits", "codes", anchors, sizes):
        net.output(name, None, onnx.TensorProto.BOOL if "exist" in name else network.FLOAT)
    graph, model, all_anchors = Graph(net), region_of_torch(sizes, 64, sizes.before, sizes.proposals), [torch.from_numpy(anchors)] * BATCH
    found, expected, right, numbers = [], [], True, []
    for spread in (0.05, 0.1, 0.3, 1.0, 4.0):
        logits, codes = random.normal(0, 2, (BATCH, len(anchors))).astype(np.float32), random.normal(0, spread, (BATCH, len(anchors), 4)).astype(np.float32)
        result = graph(logits=logits, codes=codes)
        decoded = model.box_coder.decode(torch.from_numpy(codes).reshape(-1, 4), all_anchors).view(BATCH, -1, 4)
        theirs, _ = model.filter_proposals(decoded, torch.from_numpy(logits), [(SIDE, SIDE)] * BATCH, [len(anchors)])
        for i, box in enumerate(theirs):
            right &= bool(result["proposals.exist"][i].sum() == len(box) and result["proposals.exist"][i, :len(box)].all())
            found.append(result["proposals"][i, :len(box)])
            expected.append(box)
            numbers.append(len(box))
    check("faster_rcnn: numbers of proposals", right, f"{min(numbers)} to {max(numbers)} of a picture")
    check.near("faster_rcnn: proposals in their order", found, expected, 2e-6)


def roi_heads_of_torch(size, classes=CLASSES, fraction=0.25):
    return roi_heads.RoIHeads(None, None, None, 0.5, 0.5, size, fraction, None, 0.05, 0.5, 100)


def in_order(boxes, *others):
    """Sorts rows by their boxes; those of equal boxes are equal."""
    order = np.lexsort(boxes.T)
    return [np.asarray(x)[order] for x in (boxes, *others)]


def check_rois(check, random):
    """All boxes are drawn: their number is that of the candidates, and fewer than a quarter is positive."""
    sizes = faster_rcnn.Sizes(**SMALL)
    total = sizes.proposals + BOUND
    sizes.rois_drawn = total
    net = network.Network("rois", opset=17)
    net.input("candidates", ["batch", sizes.proposals, 4])
    net.input("exist", ["batch", sizes.proposals], onnx.TensorProto.BOOL)
    net.input("boxes", ["batch", BOUND, 4])
    net.input("labels", ["batch", BOUND], network.INT64)
    for name, dtype in zip(faster_rcnn.draw_rois(box_formulas.Formula(net, "roi"), "candidates", "exist", "boxes", "labels", sizes), (network.FLOAT, network.INT64, network.FLOAT)):
        net.output(name, None, dtype)
    graph, model = Graph(net), roi_heads_of_torch(total)
    found, expected, pictures, positive = [], [], 0, 0
    for i in range(42):
        boxes, labels = targets(random, kind=KINDS[i % len(KINDS)])
        candidates, _ = targets(random, batch=BATCH, bound=sizes.proposals, kind="full")
        exist = np.arange(sizes.proposals) < random.integers(20, sizes.proposals + 1, (BATCH, 1))
        result = graph(candidates=candidates, exist=exist, boxes=boxes, labels=labels)
        given = [torch.from_numpy(c[e]) for c, e in zip(candidates, exist)]
        theirs, _, their_labels, codes = model.select_training_samples(given, torch_targets(boxes, labels))
        for k in range(BATCH):
            state = their_labels[k].numpy()
            if (state > 0).sum() < total // 4 and len(state) == exist[k].sum() + (labels[k] >= 0).sum():
                counts = result["rois.labels"][k] >= 0
                found += in_order(result["rois"][k][counts], result["rois.labels"][k][counts], result["rois.targets"][k][counts])[:2]
                expected += in_order(theirs[k].numpy(), state, codes[k].numpy())[:2]
                hit = result["rois.labels"][k] > 0
                found.append(in_order(result["rois"][k][hit], result["rois.targets"][k][hit])[1])
                expected.append(in_order(theirs[k].numpy()[state > 0], codes[k].numpy()[state > 0])[1])
                pictures, positive = pictures + 1, positive + int((state > 0).sum())
    check.near(f"faster_rcnn: boxes, labels and codes of the second stage, {pictures} pictures with {positive} positive boxes", found, expected, 5e-6)


def check_second_stage(check, random, name, writer, sizes, options, batches=10):
    """Compares what is behind the boxes that the graph has drawn: RoiAlign, layers, losses, and detections of the proposals."""
    last = "backbone.28.relu" if "vgg" in name else "backbone.3.relu"
    graph = build(writer, options, (last, "rpn.logits", "rpn.codes", "proposals", "proposals.exist", "rois", "rois.labels", "rois.targets"))
    weights = graph.weights()

    def layers(maps, boxes):
        aligned = torchvision.ops.roi_align(maps, list(boxes), sizes.pooled, 1 / sizes.stride, 2)
        x = aligned.flatten(1)
        for layer in ("box_head.fc6", "box_head.fc7"):
            x = functional.relu(x @ weights[f"roi_heads.{layer}.weight"] + weights[f"roi_heads.{layer}.bias"])
        return [x @ weights[f"roi_heads.box_predictor.{layer}.weight"] + weights[f"roi_heads.box_predictor.{layer}.bias"] for layer in ("cls_score", "bbox_pred")]

    found, expected, shown, decoded, numbers, sums, same = [], [], [], [], [], [], []
    for i in range(batches):
        image = random.normal(0, 1, (BATCH if batches > 1 else 2, 3, sizes.side, sizes.side)).astype(np.float32)
        boxes, labels = targets(random, sizes.side, len(image), options.boxes, options.classes, kind=KINDS[i % len(KINDS)])
        result = graph(image=image, boxes=boxes, labels=labels)
        maps = torch.from_numpy(result[last])
        same += maps_of_torch(weights, image, "vgg" in name, result)
        logits, codes = layers(maps, torch.from_numpy(result["rois"]))
        state = torch.from_numpy(result["rois.labels"]).reshape(-1)
        numbers.append((result["rois.labels"] >= 0).sum(1).tolist())
        keep = state >= 0
        wanted = torch.from_numpy(result["rois.targets"]).reshape(-1, 4)
        found += [result["class_loss"], result["box_loss"]]
        expected += roi_heads.fastrcnn_loss(logits[keep], codes[keep], [state[keep]], [wanted[keep]])
        sums.append((result["loss"], sum(result[part] for part in ("rpn_class_loss", "rpn_box_loss", "class_loss", "box_loss"))))
        best = torch.from_numpy(result["proposals"][:, :result["scores"].shape[1]])
        logits, codes = layers(maps, best)
        scores = torch.softmax(logits, -1)[:, 1:]
        coder = _utils.BoxCoder((10.0, 10.0, 5.0, 5.0))
        classes = torch.from_numpy(result["scores"]).argmax(2).reshape(-1) + 1  # rounding decides between classes with almost equal scores
        chosen = coder.decode(codes, list(best))[torch.arange(len(scores)), classes]
        exist = torch.from_numpy(result["proposals.exist"][:, :best.shape[1]])
        shown += [result["scores"], result["detections"]]
        decoded += [scores.reshape(*best.shape[:2], -1) * exist[..., None], torchvision.ops.clip_boxes_to_image(chosen, (sizes.side,) * 2).reshape(best.shape)]
    check.near(f"{name}: losses of the second stage, {batches} batches, {min(map(min, numbers))} to {max(map(max, numbers))} boxes of a picture", found, expected, 2e-5)
    check.near(f"{name}: the loss is the sum of four", *zip(*sums), 2e-6)
    check.near(f"{name}: scores and detections", shown, decoded, 2e-5)
    if same:
        check.near(f"{name}: map of VGG-16, and rows of the first stage", *zip(*same), 2e-5)


def maps_of_torch(weights, image, vgg, result):
    """Returns pairs of the graph's and torch's values of the network in front of the second stage."""
    if not vgg:
        return []
    with torch.no_grad():
        features = torchvision.models.vgg16(weights=None).features[:-1]
        features.load_state_dict({key.removeprefix("backbone."): value for key, value in weights.items() if key.startswith("backbone.")})
        maps = features(torch.from_numpy(image))
        head = rpn.RPNHead(512, 9)
        head.load_state_dict({key.removeprefix("rpn.head."): value for key, value in weights.items() if key.startswith("rpn.head.")})
        logits, codes = rpn.concat_box_prediction_layers(*head([maps]))
    return [(result["backbone.28.relu"], maps), (result["rpn.logits"].reshape(-1, 1), logits), (result["rpn.codes"].reshape(-1, 4), codes)]


def check_sampling(check, random):
    """16 of 40 positive and of 300 negative boxes: how many, which, and how often each."""
    net = network.Network("sample", opset=17)
    for name in ("positive", "negative"):
        net.input(name, ["batch", 400], onnx.TensorProto.BOOL)
    f = box_formulas.Formula(net, "sample")
    places, counts = box_formulas.sample(f, "positive", "negative", 32, 16)
    net.output(places, None, network.INT64).output(counts, None, onnx.TensorProto.BOOL)
    graph, batch = Graph(net), 2000
    kinds = random.permutation(np.repeat([0, 1, 2], [60, 40, 300]))
    positive, negative = (np.tile(kinds == kind, (batch, 1)) for kind in (1, 2))
    result = graph(positive=positive, negative=negative)
    drawn = kinds[result[places]]
    times = np.bincount(result[places].ravel(), minlength=400)
    good = (drawn[:, :16] == 1).all() and (drawn[:, 16:] == 2).all() and result[counts].all() and all(len(set(row)) == 32 for row in result[places])
    # A place is drawn Binomial(batch, p) times; five deviations are rare among 340 places.
    for kind, chance in ((1, 16 / 40), (2, 16 / 300)):
        gap = np.abs(times[kinds == kind] - batch * chance).max() / np.sqrt(batch * chance * (1 - chance))
        check(f"sample: {'positive' if kind == 1 else 'negative'} boxes are drawn equally often", gap < 5, f"largest distance of {batch} draws {gap:.2f} deviations")
    check("sample: half of 32 are positive where there are enough", good)
    positive[:, np.flatnonzero(kinds == 1)[5:]] = False
    negative[:, np.flatnonzero(kinds == 2)[10:]] = False
    result = graph(positive=positive, negative=negative)
    drawn = kinds[result[places]]
    check("sample: where there are too few, all are drawn", (result[counts].sum(1) == 15).all() and (drawn[:, :5] == 1).all() and (drawn[:, 5:15] == 2).all())


def check_shapes(check):
    """A shape touches all four sides of its box, and the files say the same."""
    tight = True
    for kind in range(3):
        for side in range(10, 33):
            rows, columns = np.nonzero(make_shapes.shape_mask(kind, 3, 5, side, 64))
            tight &= (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1) == (3, 5, 3 + side, 5 + side)
    check("make_shapes: boxes fit their shapes", tight)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", action="store_true", help="also the networks on VGG-16")
    parser.add_argument("--reference", action="store_true", help="onnx's evaluator instead of onnxruntime")
    options = parser.parse_args()
    Graph.reference = options.reference or not importlib.util.find_spec("onnxruntime")
    check, random = Checks(), np.random.default_rng(0)
    torch.manual_seed(0)
    with torch.no_grad():
        check_shapes(check)
        check_ssd_small(check, random)
        check_anchors(check)
        check_sampling(check, random)
        check_region_losses(check, random)
        check_proposals(check, random)
        check_rois(check, random)
        small = faster_rcnn.Sizes(**SMALL)
        check_second_stage(check, random, "faster_rcnn_small", faster_rcnn.faster_rcnn_small, small, Options())
        if options.large:
            check_ssd300(check, random)
            vgg = faster_rcnn.Sizes(side=224, stride=16, channels=512, extent=14, scales=(128, 256, 512), hidden=4096, pooled=7, before=2000, proposals=2000, detected=300)
            check_second_stage(check, random, "faster_rcnn_vgg16", faster_rcnn.faster_rcnn_vgg16, vgg, Options(20, 64, 224), batches=1)
    print(f"{check.passed} passed, {check.failed} failed, 0 skipped")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
