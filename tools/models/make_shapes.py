#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes data of a detector: small pictures of 1 to 4 coloured circles, squares and triangles before noise, which may cover each other in part.

It writes into a folder: `images/000000.png`, ..., `annotations.json` in the form of COCO (images, annotations with bbox [x,y,width,height], categories 1 to 3), and `shapes.npz` with
image uint8 [N,3,size,size], boxes float32 [N,M,4] (x1,y1,x2,y2 in pixels, where x2 and y2 are behind the last pixel) and labels int64 [N,M] (0 to 2; rows of padding: -1,
with boxes of zeros), as the networks of make_model.py take them.
"""
import argparse
import json
import os
import struct
import zlib

import numpy as np

CLASSES = ("circle", "square", "triangle")


def png(picture):
    """Returns the bytes of an 8-bit RGB file (ISO/IEC 15948); picture: uint8 [height,width,3]."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width, _ = picture.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), picture.reshape(height, -1)], 1)  # each row begins with its filter: none
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b"")


def shape_mask(kind, x, y, side, size):
    """Returns the pixels [size,size] of a shape that fills the square of `side` pixels at x,y. The square's first and last row and column all have pixels of the shape."""
    row, column = np.mgrid[:size, :size].astype(np.float64)
    u, v = (column - x + 0.5) / side, (row - y + 0.5) / side  # middles of pixels; inside the square 0 to 1
    inside = (u > 0) & (u < 1) & (v > 0) & (v < 1)
    if CLASSES[kind] == "circle":
        inside &= (u - 0.5) ** 2 + (v - 0.5) ** 2 < 0.25
    elif CLASSES[kind] == "triangle":
        inside &= np.abs(u - 0.5) < 0.5 * v + 0.5 / side  # the tip is a pixel or two wide
    return inside


def common_part(a, b):
    """Returns the common area of two boxes as a part of the smaller one."""
    width, height = (min(a[i + 2], b[i + 2]) - max(a[i], b[i]) for i in (0, 1))
    return max(width, 0) * max(height, 0) / min((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))


def draw(random, size):
    """Returns a picture uint8 [size,size,3], boxes and labels. The side of a shape is a sixth to a half of the picture's; the common part of two is less than a third of the smaller one."""
    picture = random.integers(0, 96, (1, 1, 3)) + random.integers(0, 64, (size, size, 3))
    boxes, labels = [], []
    for _ in range(random.integers(1, 5)):
        for _ in range(20):
            side = int(random.integers(size // 6, size // 2 + 1))
            x, y = (int(v) for v in random.integers(0, size - side + 1, 2))
            box = (x, y, x + side, y + side)
            if all(common_part(box, other) < 1 / 3 for other in boxes):
                break
        else:
            continue
        kind = int(random.integers(len(CLASSES)))
        mask = shape_mask(kind, x, y, side, size)
        colour = random.integers(64, 256, 3)
        colour[random.integers(3)] = random.integers(192, 256)
        picture[mask] = colour + random.integers(-16, 17, (mask.sum(), 3))
        boxes.append(box)
        labels.append(kind)
    return np.clip(picture, 0, 255).astype(np.uint8), boxes, labels


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder to write into")
    parser.add_argument("--count", type=int, default=1000, help="pictures (1000)")
    parser.add_argument("--size", type=int, default=64, help="pixels of a side (64)")
    parser.add_argument("--boxes", type=int, default=8, help="rows of boxes and labels of a picture, at least 4 (8)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.boxes < 4 or options.size < 16:
        parser.error("--boxes is at least 4, and --size at least 16")
    random = np.random.default_rng(options.seed)
    os.makedirs(os.path.join(options.out, "images"), exist_ok=True)
    arrays = {"image": np.zeros((options.count, 3, options.size, options.size), np.uint8), "boxes": np.zeros((options.count, options.boxes, 4), np.float32),
              "labels": np.full((options.count, options.boxes), -1, np.int64)}
    images, annotations = [], []
    for i in range(options.count):
        picture, boxes, labels = draw(random, options.size)
        name = f"{i:06}.png"
        with open(os.path.join(options.out, "images", name), "wb") as file:
            file.write(png(picture))
        images.append({"id": i + 1, "file_name": name, "width": options.size, "height": options.size})
        for box, label in zip(boxes, labels):
            x1, y1, x2, y2 = box
            annotations.append({"id": len(annotations) + 1, "image_id": i + 1, "category_id": label + 1, "bbox": [x1, y1, x2 - x1, y2 - y1], "area": (x2 - x1) * (y2 - y1),
                                "iscrowd": 0})
        arrays["image"][i] = picture.transpose(2, 0, 1)
        arrays["boxes"][i, :len(boxes)] = boxes
        arrays["labels"][i, :len(labels)] = labels
    categories = [{"id": i + 1, "name": name} for i, name in enumerate(CLASSES)]
    with open(os.path.join(options.out, "annotations.json"), "w", encoding="utf-8") as file:
        json.dump({"images": images, "annotations": annotations, "categories": categories}, file)
    np.savez(os.path.join(options.out, "shapes.npz"), **arrays)
    print(f"{options.out}: {options.count} pictures, {len(annotations)} shapes")


if __name__ == "__main__":
    main()
