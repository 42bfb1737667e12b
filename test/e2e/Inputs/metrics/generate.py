#!/usr/bin/python3
"""Writes expected.json beside it: what scikit-learn says of the tasks. Needs scikit-learn (made with 1.9.1), which the tests do not need.

usage: generate.py
"""
import json
import os

import numpy as np
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

    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected.json"), "w") as file:
        json.dump(expected, file, indent=1, default=float)
        file.write("\n")


if __name__ == "__main__":
    main()
