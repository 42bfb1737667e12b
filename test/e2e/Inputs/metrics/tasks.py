"""The scores and targets of test/e2e/metrics_test.py, which the generator of the expected numbers uses, too. All scores are exact in f32."""
import numpy as np

SAMPLES = 37  # fills no whole number of batches


def classes():
    """Makes five classes, of which no label and hardly a decision is the last one, without equal scores."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 4, SAMPLES)
    scores = rng.normal(0, 1, (SAMPLES, 5)) + 1.5 * np.eye(5)[labels]
    scores[:, 4] -= 3
    return scores.astype(np.float32), labels


def binary():
    """Makes two classes with many equal scores."""
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, SAMPLES)
    scores = np.round(2 * (rng.normal(0, 1, (SAMPLES, 2)) + np.eye(2)[labels])) / 2
    return scores.astype(np.float32), labels


def several():
    """Makes three labels of each sample, the last of them rare, with equal scores."""
    rng = np.random.default_rng(3)
    targets = (rng.random((SAMPLES, 3)) < [0.5, 0.3, 0.1]).astype(np.float32)
    targets[0] = 1
    scores = np.round(4 * (rng.normal(0, 1, (SAMPLES, 3)) + targets - 0.5)) / 4
    return scores.astype(np.float32), targets


def regression():
    rng = np.random.default_rng(4)
    targets = rng.normal(0, 2, (SAMPLES, 2)).astype(np.float32)
    return (targets + rng.normal(0, 0.5, (SAMPLES, 2))).astype(np.float32), targets


def tokens():
    """Makes six tokens of a sample and four classes; one label in four is ignored."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 4, (SAMPLES, 6))
    scores = rng.normal(0, 1, (SAMPLES, 6, 4)) + np.eye(4)[labels]
    labels[rng.random((SAMPLES, 6)) < 0.25] = -100
    return scores.astype(np.float32), labels


def detections(seed, box_of_each_class):
    """Makes pictures of A = 12 anchors, K = 4 classes and up to M = 6 true boxes, with equal scores, duplicates, boxes without area, and pictures without truth or without detections. No label
    is the last class. Returns detections [N,A,4] or [N,A,K,4], scores [N,A,K], boxes [N,M,4] and labels [N,M], where -1 is padding."""
    rng = np.random.default_rng(seed)
    pictures, anchors, classes, truths = int(rng.integers(1, 24)), 12, 4, 6
    corners = rng.integers(0, 40, (pictures, truths, 2))
    boxes = np.concatenate([corners, corners + rng.integers(0, 30, (pictures, truths, 2))], -1)
    labels = rng.integers(0, classes - 1, (pictures, truths))
    labels[np.arange(truths) >= rng.integers(0, truths + 1, (pictures, 1))] = -1
    copies = rng.random(pictures) < 0.2
    boxes[copies, 1], labels[copies, 1] = boxes[copies, 0], labels[copies, 0]
    # Most anchors lie near a true box, and prefer its class.
    near = rng.integers(0, truths, (pictures, anchors))
    at = np.arange(pictures)[:, None]
    detections = boxes[at, near][:, :, None] + np.round(rng.normal(0, 1, (pictures, anchors, classes, 4)))
    scores = rng.random((pictures, anchors, classes)) ** 4 + 0.6 * rng.random((pictures, anchors, 1)) * (np.arange(classes) == labels[at, near][:, :, None])
    scores[rng.random(pictures) < 0.1] = 0
    scores = np.round(np.minimum(scores, 1) * 32) / 32
    return (detections if box_of_each_class else detections[:, :, 0]).astype(np.float32), scores.astype(np.float32), boxes.astype(np.float32), labels


# The sets of detections: a name, whether each class has its own boxes, seeds, and the options of `map`.
DETECTIONS = [("detections", False, range(100, 130), {"iou": 0.5, "nms": 0.5, "max_detections": 100, "score_threshold": 0.05}),
              ("detections of each class", True, range(200, 230), {"iou": 0.75, "nms": 0.3, "max_detections": 5, "score_threshold": 0.2})]
