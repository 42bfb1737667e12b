#!/usr/bin/python3
"""Writes expected.json and detections.json beside it: what scikit-learn and pycocotools say of the tasks. Needs scikit-learn (made with 1.9.1) and pycocotools (2.0.11), which the tests do not need.

usage: generate.py
"""
import contextlib
import io
import json
import os

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from sklearn import metrics as sk

import tasks


def softmax(scores):
    e = np.exp(scores.astype(np.float64) - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def averaged(true, found, averages):
    """Returns precision, recall and F1 with these averages, by the names of mpc's metrics."""
    result = {}
    for average in averages:
        suffix = "" if average == "macro" else ":" + average
        for name, function in (("precision", sk.precision_score), ("recall", sk.recall_score), ("f1", sk.f1_score)):
            result[name + suffix] = function(true, found, average=average, zero_division=0)
    return result


def of_classes(scores, labels):
    found, probabilities, known = scores.argmax(-1), softmax(scores), range(scores.shape[-1])
    # scikit-learn refuses one-vs-rest where a class does not occur; mpc leaves such a class out of the mean.
    areas = [sk.roc_auc_score(labels == c, probabilities[:, c]) for c in known if (labels == c).any()]
    return {"accuracy": sk.accuracy_score(labels, found), "confusion": sk.confusion_matrix(labels, found, labels=list(known)).tolist(), "auc": np.mean(areas),
            "perplexity": np.exp(sk.log_loss(labels, probabilities, labels=list(known))), **averaged(labels, found, ["macro", "micro"])}


def iou(a, b):
    """Returns the intersection over union of a box [4] with boxes [n,4]."""
    sides = np.maximum(0, np.minimum(a[2:], b[:, 2:]) - np.maximum(a[:2], b[:, :2]))
    areas = [np.maximum(0, x[..., 2:] - x[..., :2]).prod(-1) for x in (a, b)]
    return sides.prod(-1) / np.maximum(areas[0] + areas[1] - sides.prod(-1), 1e-30)


def kept(boxes, scores, options):
    """Returns the detections (class, score, box) of a picture, boxes [A,K,4] and scores [A,K], as a detector decides them."""
    found = []
    for c in range(scores.shape[1]):
        left = [a for a in np.argsort(-scores[:, c], kind="stable") if scores[a, c] > options["score_threshold"]]
        while left:
            best, *left = left
            found.append((c, float(scores[best, c]), boxes[best, c]))
            left = [a for a, covered in zip(left, iou(boxes[best, c], boxes[left, c])) if covered <= options["nms"]]
    return sorted(found, key=lambda one: -one[1])[:options["max_detections"]]


def of_detections(detections, scores, boxes, labels, options):
    """Returns what COCOeval makes of them: map, the average precision at options["iou"], and map of each class, None without truth."""
    def box(corners):
        return [float(corners[0]), float(corners[1]), *(max(0.0, float(end) - float(begin)) for begin, end in zip(corners[:2], corners[2:]))]

    pictures, _, classes = scores.shape
    each = np.broadcast_to(detections.reshape(pictures, scores.shape[1], -1, 4), (*scores.shape, 4)).astype(np.float64)
    truth, found = COCO(), []
    truth.dataset = {"images": [{"id": n} for n in range(pictures)], "categories": [{"id": c} for c in range(classes)], "annotations": []}
    for n in range(pictures):
        for corners, label in zip(boxes[n], labels[n]):
            if label >= 0:
                xywh = box(corners)
                truth.dataset["annotations"].append({"id": len(truth.dataset["annotations"]) + 1, "image_id": n, "category_id": int(label), "bbox": xywh, "area": xywh[2] * xywh[3], "iscrowd": 0})
        found += [{"image_id": n, "category_id": c, "score": score, "bbox": box(corners)} for c, score, corners in kept(each[n], scores[n], options)]
    if not truth.dataset["annotations"]:
        return None, None, [None] * classes
    with contextlib.redirect_stdout(io.StringIO()):
        truth.createIndex()
        result = COCOeval(truth, truth.loadRes(found) if found else COCO(), "bbox")
        result.params.maxDets = [options["max_detections"]]
        result.evaluate()
        result.accumulate()
    precision = result.eval["precision"][:, :, :, 0, 0]  # [ious, recalls, classes], -1 without truth

    def mean(part):
        return float(part[part > -1].mean()) if (part > -1).any() else None
    return mean(precision), mean(precision[np.isclose(result.params.iouThrs, options["iou"])]), [mean(precision[:, :, c]) for c in range(classes)]


def main():
    expected = {}
    scores, labels = tasks.classes()
    expected["classes"] = of_classes(scores, labels)
    for k in (2, 3):
        expected["classes"][f"top{k}"] = sk.top_k_accuracy_score(labels, scores, k=k, labels=range(5))

    scores, labels = tasks.binary()
    found = scores.argmax(1)
    expected["binary"] = {"auc": sk.roc_auc_score(labels, softmax(scores)[:, 1]), "perplexity": np.exp(sk.log_loss(labels, softmax(scores))),
                          **averaged(labels, found, ["macro", "micro", "binary"])}

    scores, targets = tasks.several()
    found = scores > 0
    expected["several"] = {"multilabel": 1 - sk.hamming_loss(targets, found), "exact": sk.accuracy_score(targets, found), "auc": sk.roc_auc_score(targets, scores),
                           **averaged(targets, found, ["macro", "micro"])}

    scores, targets = tasks.regression()
    expected["regression"] = {"mae": sk.mean_absolute_error(targets.astype(float), scores.astype(float)), "rmse": np.sqrt(sk.mean_squared_error(targets.ravel().astype(float), scores.ravel().astype(float)))}

    scores, labels = tasks.tokens()
    counts = labels.ravel() != -100
    expected["tokens"] = of_classes(scores.reshape(-1, 4)[counts], labels.ravel()[counts])

    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "expected.json"), "w") as file:
        json.dump(expected, file, indent=1, default=float)
        file.write("\n")
    with open(os.path.join(here, "detections.json"), "w") as file:
        tables = [f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(of_detections(*tasks.detections(seed, box_of_each_class), options)) for seed in seeds) + "]"
                  for name, box_of_each_class, seeds, options in tasks.DETECTIONS]
        file.write("{" + ",\n".join(tables) + "}\n")


if __name__ == "__main__":
    main()
