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
