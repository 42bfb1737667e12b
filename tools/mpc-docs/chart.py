#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the pictures of results: SVG files that a page shows.

usage: tools/mpc-docs/chart.py bars --table docs/results/host-speed.md --label network,precision --value ratio [--where precision=fp32,bf16] --title T --out F.svg
       tools/mpc-docs/chart.py lines --value loss NAME=LOG.jsonl... --title T --out F.svg

`bars` takes the first table of a Markdown page, and draws a bar for each row that --where keeps; a line marks the value 1 of a ratio. `lines` takes logs that programs write with --log, and
draws the value over the steps, each point the mean of a fiftieth of them. Exit status 1 when a column, a row or a value is missing.
"""
import argparse
import html
import json
import math
import sys

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"]  # apart for colour-blind readers too (Okabe and Ito 2008)
FONT = 'font-family="Helvetica, Arial, sans-serif" font-size="13"'


def fail(what):
    sys.exit(f"error: {what}")


def svg(width, height, title, parts):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" {FONT} fill="#222">',
                      '<rect width="100%" height="100%" fill="#ffffff"/>', f'<text x="16" y="24" font-weight="bold">{html.escape(title)}</text>', *parts, "</svg>", ""])


def first_table(path):
    """Returns the rows of the first table of a page as {column: cell}."""
    rows = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("|"):
                rows.append([cell.strip(" *") for cell in line.strip().strip("|").split("|")])
            elif rows:
                break
    if len(rows) < 3:
        fail(f"{path}: has no table")
    return [dict(zip(rows[0], row)) for row in rows[2:]]


def bars(options):
    rows = first_table(options.table)
    for column in [*options.label.split(","), options.value]:
        if column not in rows[0]:
            fail(f"{options.table}: has no column '{column}'; there are {', '.join(rows[0])}")
    for condition in options.where:
        column, _, values = condition.partition("=")
        rows = [row for row in rows if row.get(column) in values.split(",")]
    if not rows:
        fail(f"{options.table}: no row is left by {' '.join(options.where)}")
    names, values = [" ".join(row[c] for c in options.label.split(",")) for row in rows], [float(row[options.value]) for row in rows]
    left, wide = 130, 430
    scale, parts = wide / max(*values, 1), []
    for i, (name, value) in enumerate(zip(names, values)):
        y = 44 + 26 * i
        parts += [f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{html.escape(name)}</text>', f'<rect x="{left}" y="{y}" width="{value * scale:.1f}" height="18" fill="{COLOURS[0]}"/>',
                  f'<text x="{left + value * scale + 6:.1f}" y="{y + 14}">{value:.2f}</text>']
    bottom = 44 + 26 * len(rows)
    parts.append(f'<line x1="{left + scale:.1f}" y1="38" x2="{left + scale:.1f}" y2="{bottom}" stroke="#d55e00" stroke-dasharray="4 3"/>')
    return svg(left + wide + 60, bottom + 12, options.title, parts)


def means(path, value, count=50):
    """Returns (step, mean of the value) of `count` parts of a log."""
    points = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            entry = json.loads(line)
            if value in entry and "step" in entry and isinstance(entry[value], (int, float)):
                points.append((entry["step"], entry[value]))
    if len(points) < 2:
        fail(f"{path}: fewer than two lines have a number '{value}'; train with --log-every 1")
    size = max(1, len(points) // count)
    return [(points[min(i + size, len(points)) - 1][0], sum(v for _, v in points[i:i + size]) / len(points[i:i + size])) for i in range(0, len(points), size)]


def lines(options):
    series = [(name, means(path, options.value)) for name, _, path in (each.partition("=") for each in options.logs)]
    left, top, wide, high = 60, 40, 520, 240
    last = max(points[-1][0] for _, points in series)
    values = [v for _, points in series for _, v in points]
    if min(values) <= 0:
        fail(f"a '{options.value}' is not positive, and the axis is logarithmic")
    low, top_value = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    x = lambda step: left + wide * step / last  # noqa: E731
    y = lambda v: top + high * (top_value - math.log10(v)) / (top_value - low)  # noqa: E731
    parts = []
    for exponent in range(low, top_value + 1):
        at = y(10.0**exponent)
        parts += [f'<line x1="{left}" y1="{at:.1f}" x2="{left + wide}" y2="{at:.1f}" stroke="#ddd"/>', f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">{10.0**exponent:g}</text>']
    for i, (name, points) in enumerate(series):
        path = " ".join(f"{x(s):.1f},{y(v):.1f}" for s, v in points)
        parts += [f'<polyline points="{path}" fill="none" stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="1.8"/>',
                  f'<line x1="{left + wide - 110}" y1="{top + 14 + 20 * i}" x2="{left + wide - 86}" y2="{top + 14 + 20 * i}" stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="3"/>',
                  f'<text x="{left + wide - 80}" y="{top + 18 + 20 * i}">{html.escape(name)}</text>']
    parts += [f'<text x="{left}" y="{top + high + 22}">0</text>', f'<text x="{left + wide}" y="{top + high + 22}" text-anchor="end">{last} steps</text>']
    return svg(left + wide + 20, top + high + 34, options.title, parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("bars", "lines"):
        command = commands.add_parser(name)
        command.add_argument("--value", required=True)
        command.add_argument("--title", required=True)
        command.add_argument("--out", required=True)
        if name == "bars":
            command.add_argument("--table", required=True)
            command.add_argument("--label", required=True)
            command.add_argument("--where", action="append", default=[])
        else:
            command.add_argument("logs", nargs="+", metavar="NAME=LOG")
    options = parser.parse_args()
    try:
        picture = bars(options) if options.command == "bars" else lines(options)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
    with open(options.out, "w", encoding="utf-8") as file:
        file.write(picture)


if __name__ == "__main__":
    main()
