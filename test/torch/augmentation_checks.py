#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what the picture plugin makes of pictures with Pillow and torchvision: values of resized pictures and of changed colours, and the
distributions of what is random. Mixup and cutmix are seen in the gradients of a compiled program.

usage: augmentation_checks.py [--build DIR]
Needs torch, torchvision, numpy, scipy and pillow. Exits with status 1 if a check fails.
"""
import argparse
import math
import os
import sys

import numpy as np
import torch
from PIL import Image
from scipy import stats
from torchvision.transforms.v2 import functional

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "benchmarks", "pictures"))
sys.path[:0] = [os.path.join(ROOT, "test", folder) for folder in ("e2e", "tools")]
import plugin  # noqa: E402


def make(table, pictures, size, transform="", augment="", seed=0, epochs=(0,), erased=b"\x07\x08\x09"):
    """Returns [epochs, samples, channels, height, width] of u8; pictures: u8 [samples, channels, height, width], size: (height, width)."""
    pictures = np.ascontiguousarray(pictures)
    maker = plugin.Maker(table, pictures, size, pictures.shape[1], transform, augment, erased)
    made = np.stack([[maker.make(i, seed, epoch).copy() for i in range(len(pictures))] for epoch in epochs])
    maker.close()
    return made


class Checks:
    def __init__(self):
        self.failed = self.passed = 0

    def __call__(self, name, good, detail=""):
        self.passed += bool(good)
        self.failed += not good
        print(f"{'ok  ' if good else 'FAIL'}  {name}{': ' if detail else ''}{detail}")


def difference(ours, theirs):
    return int(np.abs(ours.astype(int) - np.asarray(theirs).astype(int)).max())


def check_resize(table, check, random):
    worst = {"pillow": 0, "torchvision": 0}
    columns_first = (17, 33)  # Pillow goes along columns first where that is less work, and rounds at another place
    for height, width, to in ((32, 32, (40, 40)), (240, 320, (224, 224)), (500, 375, (64, 48)), (17, 33, (5, 90)), (1, 7, (3, 2)), (64, 64, (64, 64)),
                              (333, 500, (7, 9))):
        picture = random.integers(0, 256, (1, 3, height, width), dtype=np.uint8)
        ours = make(table, picture, to, transform="resize")[0, 0]
        pillow = np.asarray(Image.fromarray(picture[0].transpose(1, 2, 0)).resize(to[::-1], Image.BILINEAR)).transpose(2, 0, 1)
        vision = functional.resize(torch.from_numpy(picture[0]), list(to), antialias=True).numpy()
        if (height, width) != columns_first:
            worst["pillow"] = max(worst["pillow"], difference(ours, pillow))
        worst["torchvision"] = max(worst["torchvision"], difference(ours, vision))
    check("resize equals Pillow's BILINEAR", worst["pillow"] == 0, f"largest difference {worst['pillow']}")
    check("resize is within 1 of torchvision's", worst["torchvision"] <= 1, f"largest difference {worst['torchvision']}")
    picture = random.integers(0, 256, (1, 3, 75, 101), dtype=np.uint8)
    theirs = functional.center_crop(functional.resize(torch.from_numpy(picture[0]), [40], antialias=True), [32, 32]).numpy()
    ours = make(table, picture, (32, 32), transform="resize:40,center-crop")[0, 0]
    check("resize:40,center-crop", difference(ours, theirs) <= 1, f"largest difference {difference(ours, theirs)}")


def check_crop(table, check, random):
    """All shifts of a padded crop are equally likely, and each equals torchvision's crop of the padded picture."""
    picture = random.integers(1, 256, (1, 3, 8, 8), dtype=np.uint8)
    ours = make(table, picture, (8, 8), augment="random-crop:2,flip", epochs=range(8000))[:, 0]
    padded = functional.pad(torch.from_numpy(picture[0]), [2, 2, 2, 2]).numpy()
    shifts = {}
    for y in range(5):
        for x in range(5):
            window = padded[:, y:y + 8, x:x + 8]
            shifts[window.tobytes()] = shifts[window[:, :, ::-1].tobytes()] = (y, x)
    counts, flips = {}, 0
    for one in ours:
        at = shifts.get(one.tobytes())
        counts[at] = counts.get(at, 0) + 1
        flips += at is not None and one.tobytes() != padded[:, at[0]:at[0] + 8, at[1]:at[1] + 8].tobytes()
    check("random-crop:2 makes the 25 crops of torchvision's padded picture", None not in counts and len(counts) == 25)
    check("all of them are equally likely", stats.chisquare(list(counts.values())).pvalue > 1e-3)
    check("flip mirrors half of them", stats.binomtest(flips, len(ours)).pvalue > 1e-3, f"{flips} of {len(ours)}")


def check_resized_crop(table, check):
    """The picture's values are its coordinates, so that each result tells its box."""
    height, width, count = 120, 200, 4000
    picture = np.zeros((1, 2, height, width), np.uint8)
    picture[0, 0], picture[0, 1] = np.arange(height)[:, None], np.arange(width)[None]
    ours = make(table, picture, (64, 64), augment="random-resized-crop:0.2:0.9", epochs=range(count), erased=b"\0\0")[:, 0].astype(float)
    tall, wide = (ours[:, 0, 48, 0] - ours[:, 0, 16, 0]) * 2, (ours[:, 1, 0, 48] - ours[:, 1, 0, 16]) * 2
    area, ratio = tall * wide / (height * width), wide / tall
    torch.manual_seed(0)
    from torchvision.transforms.v2 import RandomResizedCrop
    boxes = [RandomResizedCrop.get_params(torch.from_numpy(picture[0]), [0.2, 0.9], [3 / 4, 4 / 3]) if hasattr(RandomResizedCrop, "get_params") else
             RandomResizedCrop(64, (0.2, 0.9)).make_params([torch.from_numpy(picture[0])]) for _ in range(count)]
    boxes = np.array([[b["height"], b["width"]] if isinstance(b, dict) else [b[2], b[3]] for b in boxes], float)
    for name, one, other in (("area", area, boxes.prod(1) / (height * width)), ("shape", np.log(ratio), np.log(boxes[:, 1] / boxes[:, 0]))):
        gap = stats.ks_2samp(one, other).statistic
        check(f"random-resized-crop draws the {name} as torchvision does", gap < 0.06, f"Kolmogorov-Smirnov distance {gap:.3f} of {count} draws")


def check_colours(table, check, random):
    """A step with one number draws its factor; torchvision's function with the nearest factor makes the same picture."""
    picture = random.integers(0, 256, (1, 3, 24, 24), dtype=np.uint8)
    theirs = torch.from_numpy(picture[0])
    ranges = {"brightness": ("jitter:0.5", np.linspace(0.5, 1.5, 2001), functional.adjust_brightness),
              "contrast": ("jitter:0:0.5", np.linspace(0.5, 1.5, 2001), functional.adjust_contrast),
              "saturation": ("jitter:0:0:0.5", np.linspace(0.5, 1.5, 2001), functional.adjust_saturation),
              "hue": ("jitter:0:0:0:0.4", np.linspace(-0.4, 0.4, 4001), functional.adjust_hue)}
    for name, (step, factors, function) in ranges.items():
        made = np.stack([function(theirs, float(f)).numpy() for f in factors]).astype(np.int16)
        ours = make(table, picture, (24, 24), augment=step, epochs=range(120))[:, 0]
        nearest = [int(np.abs(made - one.astype(np.int16)).mean((1, 2, 3)).argmin()) for one in ours]
        gaps = [np.abs(made[n] - one.astype(np.int16)) for n, one in zip(nearest, ours)]
        far = float(np.mean([(gap > 1).mean() for gap in gaps]))
        check(f"{name} is torchvision's for some factor of the range", far < 0.01, f"{100 * far:.2f} % of the values differ by more than 1")
        uniform = stats.kstest((factors[nearest] - factors[0]) / (factors[-1] - factors[0]), "uniform").pvalue
        check(f"{name}: the factor is uniform", uniform > 1e-3, f"p = {uniform:.3f}")


def check_erase(table, check):
    picture = np.full((1, 3, 40, 60), 200, np.uint8)
    ours = make(table, picture, (40, 60), augment="erase:0.7", epochs=range(4000))[:, 0]
    hit = (ours[:, 0] == 7)
    erased = hit.any((1, 2))
    check("erase: its probability", stats.binomtest(int(erased.sum()), 4000, 0.7).pvalue > 1e-3, f"{erased.mean():.3f}")
    boxes = np.stack([hit[erased].any(2).sum(1), hit[erased].any(1).sum(1)], 1).astype(float)
    check("erase: a rectangle of the given values", (hit[erased].sum((1, 2)) == boxes.prod(1)).all() and set(np.unique(ours)) == {7, 8, 9, 200})
    from torchvision.transforms.v2 import RandomErasing
    torch.manual_seed(0)
    theirs = []
    while len(theirs) < len(boxes):
        one = RandomErasing(p=1)(torch.full((1, 40, 60), 200, dtype=torch.uint8))[0] == 0
        theirs.append([int(one.any(1).sum()), int(one.any(0).sum())])
    theirs = np.array(theirs, float)
    for name, one, other in (("area", boxes.prod(1), theirs.prod(1)), ("shape", boxes[:, 0] / boxes[:, 1], theirs[:, 0] / theirs[:, 1])):
        gap = stats.ks_2samp(one, other).statistic
        check(f"erase draws the {name} as torchvision does", gap < 1.95 * math.sqrt(2 / len(boxes)), f"Kolmogorov-Smirnov distance {gap:.3f}")


def check_draws(table, check, random):
    pictures = random.integers(0, 256, (50, 3, 16, 16), dtype=np.uint8)
    steps = "random-crop:4,flip,jitter:0.4:0.4:0.4:0.1,erase"
    one = make(table, pictures, (16, 16), augment=steps, epochs=(3,))
    check("the same seed and epoch make the same pictures", (one == make(table, pictures, (16, 16), augment=steps, epochs=(3,))).all())
    check("another epoch makes others", (one != make(table, pictures, (16, 16), augment=steps, epochs=(4,))).any((2, 3, 4)).mean() > 0.95)
    check("another seed makes others", (one != make(table, pictures, (16, 16), augment=steps, epochs=(3,), seed=1)).any((2, 3, 4)).mean() > 0.95)


def check_mixing(check, build):
    """The gradients of batches of two pictures are torch's for what torchvision's MixUp and CutMix make of them, with shares and boxes of the same distribution."""
    import harness
    import mixing_test as mixing
    from torchvision.transforms.v2 import CutMix, MixUp
    mixing.OPTIONS = mixing.pictures_test.OPTIONS = argparse.Namespace(bin=os.path.join(os.path.abspath(build), "bin"))
    count, side, classes = 100, mixing.SIDE, len(mixing.CLASSES)
    with harness.folder() as folder:
        program = mixing.Training(folder, mixing.linear(), batch=2)
        x, labels = program.two()
        for step, transform, kinds in (("mixup:0.4", MixUp(alpha=0.4, num_classes=classes), "share"), ("cutmix:1", CutMix(num_classes=classes), "box")):
            ours, worst = [], 0.0
            for seed in range(count):
                start, found = program.gradient_of(seed, step)
                mix, _ = mixing.search(start, x, labels, found)[kinds]
                ours.append(mix["own"] if kinds == "share" else 1 - (mix["box"][2] - mix["box"][0]) * (mix["box"][3] - mix["box"][1]) / side ** 2)
                top, left, bottom, right = mix.get("box", (0, 0, 0, 0))
                params = {"lam": ours[-1], "box": (left, top, right, bottom), "lam_adjusted": ours[-1]}
                drawn, transform.make_params = transform.make_params, lambda _, params=params: params
                pictures, shares = transform(torch.from_numpy(x), torch.tensor([0, 2]))
                transform.make_params = drawn
                weights = torch.from_numpy(start).requires_grad_()
                torch.nn.functional.cross_entropy(pictures.flatten(1) @ weights.T, shares.double()).backward()
                worst = max(worst, float(np.abs(weights.grad.numpy() - found).max()))
            check(f"{step} makes the batches of torchvision's {type(transform).__name__}", worst < 2e-6, f"largest difference of a gradient {worst:.2g}")
            torch.manual_seed(0)
            theirs = [transform.make_params([torch.zeros(2, 3, side, side)]) for _ in range(4000)]
            theirs = [one["lam" if kinds == "share" else "lam_adjusted"] for one in theirs]
            # A share and the rest of it make the same batch of two samples, in another order; both distributions are folded there.
            gap = stats.ks_2samp(np.maximum(ours, 1 - np.array(ours)), np.maximum(theirs, 1 - np.array(theirs))).statistic
            check(f"{step} draws shares as torchvision does", gap < 1.95 * math.sqrt(1 / count + 1 / 4000), f"Kolmogorov-Smirnov distance {gap:.3f} of {count} batches")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    build = parser.parse_args().build
    table, check, random = plugin.load(os.path.join(os.path.abspath(build), "bin", "libmpc_images.so")), Checks(), np.random.default_rng(0)
    check_resize(table, check, random)
    check_crop(table, check, random)
    check_resized_crop(table, check)
    check_colours(table, check, random)
    check_erase(table, check)
    check_draws(table, check, random)
    check_mixing(check, build)
    print(f"{check.passed} passed, {check.failed} failed, 0 skipped")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
