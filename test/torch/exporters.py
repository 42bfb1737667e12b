#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles networks as PyTorch's exporters write them with mpc, and compares one step's loss and gradients with torch's.

usage: exporters.py --build BUILD [--only TEXT] [--work DIR] [--keep] [--markdown FILE]      (make test-torch)
Each network is exported in each way of variants.py, compiled in fp32, and run for one step. The verdict of a row is
  equal      the loss and every gradient, by torch's name, are within the bounds of reference.py
  ReLU       the same, except for pre-activations next to zero that have the other sign; the row names them
  names      as for equal, but the exporter (the older one, which traces) gave parameters names that torch does not have; the row has some
  refused    mpc says what the exporter lost, with a documented error (LOST)
  noted      the exporter changed what is trained and left no record; mpc's notes say what it looks like (SUSPICIOUS), or name every parameter that is not trained (UNTRAINED)
  no export  the exporter itself fails
  FAIL       anything else; the exit status is 1 if there is one
Without torch the script prints why it does nothing and ends with 0.
"""
import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings

try:
    import numpy as np
    import onnx  # noqa: F401
    import onnxscript  # noqa: F401
    import torch
    import torchvision  # noqa: F401
    import transformers
except ImportError as missing:
    print(f"SKIP test-torch: {missing}; it needs what test/torch/requirements.txt lists (pip install -r test/torch/requirements.txt)")
    sys.exit(0)

import networks  # noqa: E402
import recurrent  # noqa: E402
import variants  # noqa: E402
from reference import LOSS, Reference  # noqa: E402

VERDICTS = ("equal", "ReLU", "names", "refused", "noted", "no export", "FAIL")
SECONDS = 10  # processor time that a compilation may take
LOST = r"(?:torch's exporter rewrote what would be trained|whose projection it loses|exporter sorts the samples)"  # in mpc's errors
UNTRAINED = r"not trained, for .*: (.*)"
SUSPICIOUS = r"exporters merge equal tensors|values are those of a (mask|table)|exported for inference"  # in mpc's notes


class Row:
    def __init__(self, network, variant):
        self.network, self.variant, self.verdict, self.why = network, variant, "FAIL", ""
        self.compile_seconds = self.loss = self.gradient = None
        self.notes = []

    def set(self, verdict, why=""):
        self.verdict, self.why = verdict, " ".join(why.split())
        return self


def run(command, environment=None):
    """Returns (status, stdout and stderr, processor seconds)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1800, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done.returncode, done.stdout + done.stderr, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def message(output):
    """Returns the error and its hint, without paths."""
    lines = [line.strip() for line in output.splitlines() if re.match(r"\s*(error|hint)\b|.*: error:", line)]
    return re.sub(r"\S*/([\w.-]+\.onnx)", r"\1", " ".join(lines) or output[-300:])


def data_file(case, path):
    arrays = {name: value.numpy() for name, value in case.inputs.items()}
    if case.labels is not None:
        arrays["labels"] = case.labels.numpy()
    np.savez(path, **arrays)
    return path


def by_torch_names(traced, reference, prefixes):
    """Returns the gradients of a trace by torch's first names, and those whose names torch does not know."""
    known, unknown = {}, {}
    for key in traced:
        if key.startswith("grad/"):
            name = key[5:]
            for prefix in prefixes:
                name = name.removeprefix(prefix)
            gradient = torch.from_numpy(traced[key]).double()
            if name in reference.names:
                known[reference.names[name]] = gradient
            else:
                unknown[name] = gradient
    return known, unknown


def renamed(reference, gradients, unknown):
    """Assigns gradients with unknown names to parameters that have none, where shape and numbers allow it: directly, transposed, or as the tensors of an ONNX RNN, GRU or LSTM.
    Returns {name: {torch's name: gradient}}."""
    found, taken = {}, set(gradients)
    for name, gradient in unknown.items():
        forms = [{n: g} for n in reference.gradients for g in ((gradient, gradient.T) if gradient.dim() == 2 else (gradient,))] + list(recurrent.unpacked(reference.module, gradient))
        fits = [form for form in forms if taken.isdisjoint(form) and all(n in reference.gradients and reference.gradients[n].shape == g.shape for n, g in form.items())
                and not reference.too_far(form)]
        if not fits:
            return {}
        found[name] = fits[0]
        taken.update(fits[0])
    return found


def judge(row, reference, traced, prefixes):
    gradients, unknown = by_torch_names(traced, reference, prefixes)
    other_names = renamed(reference, gradients, unknown)
    for form in other_names.values():
        gradients |= form
    unknown = [] if other_names else sorted(unknown)
    row.loss = abs(float(traced["loss"][0]) / reference.loss - 1)
    wrong = [] if row.loss <= LOSS else [f"loss {row.loss:.1e} from torch's"]
    missing = sorted(set(reference.gradients) - set(gradients))
    if missing:
        wrong.append(f"{len(missing)} of {len(reference.gradients)} gradients are missing: {some(missing)}")
    if unknown:
        wrong.append(f"{len(unknown)} trained values have no name of torch's: {some(unknown)}")
    shapes = [n for n in gradients if n in reference.gradients and gradients[n].shape != reference.gradients[n].shape]
    if shapes:
        return row.set("FAIL", "; ".join(wrong + [f"{n}: shape {list(gradients[n].shape)} instead of {list(reference.gradients[n].shape)}" for n in shapes[:3]]))
    extra = sorted(n for n in set(gradients) - set(reference.gradients) if gradients[n].abs().max() > 0)
    if extra:
        wrong.append(f"{len(extra)} gradients that torch does not have: {some(extra)}")
    distances = reference.distances(gradients, reference.gradients)
    row.gradient = max((d for d, _ in distances.values()), default=None)
    far = reference.too_far(gradients)
    if far and not wrong:
        sides = reference.other_sides(gradients)
        if sides:
            return row.set("ReLU", "; ".join(f"ReLU {call} at {at}: {value:.1e}" for call, at, value in sides))
    if far:
        worst = max(far, key=lambda name: far[name][0] / far[name][1])
        wrong.append(f"{len(far)} of {len(distances)} gradients differ, {worst} by {far[worst][0]:.1e} (bound {far[worst][1]:.1e})")
    if row.compile_seconds > SECONDS:
        wrong.append(f"compiled in {row.compile_seconds:.1f} s")
    told = {name.removeprefix(prefix) for note in row.notes for match in re.findall(UNTRAINED, note) for name in re.findall(r"'([^']+)'", match) for prefix in ["", *prefixes]}
    if len(wrong) == 1 and missing and told.issuperset(missing):
        return row.set("noted", wrong[0])
    if wrong:
        suspicious = [note for note in row.notes if re.search(SUSPICIOUS, note)]
        return row.set("noted" if suspicious else "FAIL", "; ".join(wrong + suspicious[:1]))
    return row.set("names", some([f"{name} for {' and '.join(form)}" for name, form in other_names.items()])) if other_names else row.set("equal")


def some(names):
    return ", ".join(names[:4]) + (" …" if len(names) > 4 else "")


def measure(row, mpc, case, reference, module, work):
    model, program, out = (os.path.join(work, name) for name in ("model.onnx", "program", "out.npz"))
    try:
        prefixes = variants.write(row.variant.removesuffix(" axis=-1"), case, module, model)
    except Exception as error:  # an exporter may throw anything; the first cause is reported
        while error.__cause__:
            error = error.__cause__
        return row.set("no export", f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:200]}")
    batch = len(next(iter(case.inputs.values())))
    free = [f"--batch={batch}"] if row.variant.startswith("export.py") else []
    status, output, row.compile_seconds = run([mpc, "compile", model, "-o", program, "--precision=fp32", "--opt-level=O0", case.mpc_loss(), *free])
    row.notes = [line for line in output.splitlines() if re.match("(note|remark): ", line)]
    if status != 0:
        said = message(output)
        return row.set("refused" if status == 1 and re.search(LOST, said) else "FAIL", f"compile, status {status}: {said}")
    status, output, _ = run([program, "trace", "--data", data_file(case, os.path.join(work, "data.npz")), "--steps", "1", "--threads", "1", "--out", out])
    if status != 0:
        return row.set("FAIL", f"trace, status {status}: {message(output)}")
    return judge(row, reference, dict(np.load(out)), prefixes)


def dropout_row(mpc, work):
    """Checks a network with dropout, whose numbers cannot agree: it compiles, and a step gives a finite loss and gradients of all parameters."""
    row = Row("bert, dropout 0.1", "export.py")
    torch.manual_seed(1)
    case = networks.bert(dropout=0.1)
    module = case.make().train()
    row = measure(row, mpc, case, Reference(case, module), module, work)
    out = os.path.join(work, "out.npz")
    if row.loss is None:
        return row
    traced = dict(np.load(out))
    missing = [n for n, _ in module.named_parameters() if f"grad/{n}" not in traced]
    finite = all(np.isfinite(traced[k]).all() for k in traced if k.startswith("grad/")) and np.isfinite(traced["loss"]).all()
    return row.set("equal" if not missing and finite else "FAIL", "finite; not compared" if not missing and finite else f"missing {some(missing)}, finite: {finite}")


def rows(mpc, only, work, progress):
    names = [n for n in networks.NETWORKS if not only or any(re.search(o, n) for o in only)]
    for name in names:
        for own_loss in ([True, False] if name in networks.LANGUAGE_MODELS else [True]):
            case, module = networks.case(name, own_loss)
            reference = Reference(case, module)
            for variant in variants.VARIANTS if own_loss else ["export.py"]:
                row = Row(name, variant + ("" if own_loss else " axis=-1"))
                if not progress.wanted(row):
                    continue
                with tempfile.TemporaryDirectory(dir=work) as folder:
                    progress.add(measure(row, mpc, case, reference, module, folder))
    row = Row("bert, dropout 0.1", "export.py")
    if progress.wanted(row) and not only:
        with tempfile.TemporaryDirectory(dir=work) as folder:
            progress.add(dropout_row(mpc, folder))


class Progress:
    """Prints rows as they come and keeps them in a file, so that an interrupted run can go on."""

    def __init__(self, path, variant):
        self.path, self.variant = path, variant
        self.rows = json.load(open(path)) if os.path.exists(path) else []

    def wanted(self, row):
        return re.search(self.variant, row.variant) and not any(r["network"] == row.network and r["variant"] == row.variant for r in self.rows)

    def add(self, row):
        self.rows.append(vars(row))
        json.dump(self.rows, open(self.path, "w"), indent=1)
        print(f"{row.verdict:10} {row.network:12} {row.variant:28} {row.why}", flush=True)


def worst(found, key):
    values = [row[key] for row in found if row[key] is not None]
    return max(values, default=0)


def reason(row):
    """Returns what a row says, shortened to the first thing that is lost."""
    lost = re.search(LOST + ": ([^;]*)", row["why"])
    return (lost.group(1) if lost else row["why"]).split(" hint:")[0].replace("|", "\\|")[:160]


def markdown(found):
    """Returns a table of verdicts, networks by ways of export, followed by the reasons of those that are not "equal"."""
    ways = list(dict.fromkeys(row["variant"] for row in found))
    lines = ["| network | " + " | ".join(ways) + " |", "|---|" + "---|" * len(ways)]
    for network in dict.fromkeys(row["network"] for row in found):
        verdicts = {row["variant"]: row["verdict"] for row in found if row["network"] == network}
        lines.append(f"| {network} | " + " | ".join(verdicts.get(way, "") for way in ways) + " |")
    same = [row for row in found if row["verdict"] == "equal" and not row["why"]]  # rows with a reason were not compared
    lines += ["", f"In the {len(same)} files that are equal, the loss is at most {worst(same, 'loss'):.0e} from torch's in float64, a gradient at most {worst(same, 'gradient'):.0e} of its norm. "
              f"A file compiles in at most {worst(found, 'compile_seconds'):.1f} s of processor time.", ""]
    lines += [f"- {row['network']}, {row['variant']}: {row['verdict']}: {reason(row)}" for row in found if row["verdict"] not in ("equal", "no export")]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="build folder with bin/mpc")
    parser.add_argument("--only", action="append", help="networks whose name matches this regular expression")
    parser.add_argument("--variant", default="", help="ways of export that match this regular expression")
    parser.add_argument("--work", help="folder for files and results.json; rows in there are not measured again (default: a temporary one)")
    parser.add_argument("--markdown", help="file for the table")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")  # exporters give many warnings
    transformers.logging.set_verbosity_error()
    started = time.time()
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or temporary
        os.makedirs(work, exist_ok=True)
        progress = Progress(os.path.join(work, "results.json"), arguments.variant)
        rows(os.path.join(os.path.abspath(arguments.build), "bin", "mpc"), arguments.only, work, progress)
        found = progress.rows
    if arguments.markdown:
        with open(arguments.markdown, "w") as out:
            out.write(markdown(found))
    count = {verdict: sum(r["verdict"] == verdict for r in found) for verdict in VERDICTS}
    print(", ".join(f"{n} {verdict}" for verdict, n in count.items()) + f" of {len(found)}, {time.time() - started:.0f} s")
    sys.exit(1 if count["FAIL"] or not found else 0)


if __name__ == "__main__":
    main()
