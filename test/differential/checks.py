# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs one graph through the worker: what the worker is asked to do, and which of its answers are faults."""
import re

from bounds import PRECISIONS, Oracle
from worker import Ended

# This pattern matches IR in a message, which a user should not see.
DUMP = re.compile(r"^\s*%\S+ = |see current operation|\"?(graph|kernel|train)\.\w+\"?\(%|<<UNKNOWN SSA VALUE>>", re.MULTILINE)
SCALE = 128.0  # loss scale of fp16 gradients


class Fault:
    def __init__(self, stage, what, detail=""):
        self.stage, self.what, self.detail = stage, what, detail

    def __str__(self):
        return f"{self.stage}: {self.what}" + (f" ({self.detail})" if self.detail else "")


def stage_name(work):
    return " ".join(str(work[k]) for k in ("kind", "at", "precision", "level", "mode") if k in work)


def evaluation(at, precision="fp32", mode="exact", level="O1"):
    low = {} if precision == "fp32" else {"level": level, "scale": f"static,init_scale={SCALE:g}" if precision == "fp16" else "none"}
    return {"kind": "evaluate", "at": at, "precision": precision, "mode": mode, **low}


def program(precision, level="O1"):
    low = {} if precision == "fp32" else {"level": level, "scale": f"static,init_scale={SCALE:g}" if precision == "fp16" else "none"}
    return {"kind": "run", "precision": precision, **low}


COARSER = {"fp32": 1, "fp16": 2, "bf16": 3}


def precisions_of(graph, work):
    """Returns the precisions to which values are rounded, the coarsest last: those of the graph's types, and the one it is compiled
    to."""
    own = {"f16": "fp16", "bf16": "bf16"}
    used = {n for node in graph.nodes for n in node.inputs + node.outputs if n}
    # This matters even in exact mode: constants that the compiler adds (1/n, 2/sqrt(pi)), and those that it folds, have the types of
    # the values they are used with.
    return sorted({own[graph.types[n]] for n in used if graph.types[n] in own} | {work.get("precision", "fp32")}, key=COARSER.get)


def generalise(text):
    """Returns a message without its names and numbers, so that equal faults are counted as one."""
    return re.sub(r"-?\d+(\.\d+)?(e[-+]\d+)?", "N", re.sub(r"'[^']*'", "'...'", text))[:160]


def refusals(answer, stage):
    """Returns the faults in the form of error messages."""
    faults = []
    for error in answer["errors"]:
        text = "\n".join([error["what"]] + error.get("notes", []))
        if DUMP.search(text):
            faults.append(Fault(stage, "an error prints IR", generalise(error["what"])))
        elif not any(error["hints"]):
            faults.append(Fault(stage, "an error without a hint", generalise(error["what"])))
        elif not error["where"] or error["where"] == "unknown":
            faults.append(Fault(stage, "an error without a place", generalise(error["what"])))
    if not answer["errors"]:
        faults.append(Fault(stage, "fails without an error"))
    return faults


def examine(graph, worker, work, refused=None, oracle=None):
    """Returns the faults of a graph under this work. `refused` counts what the compiler says it does not support."""
    try:
        answers = worker.ask(graph, work)
    except Ended as ended:
        if len(work) == 1:
            return [Fault(stage_name(work[0]), str(ended))]
        return [fault for w in work for fault in examine(graph, worker, [w], refused, oracle)]
    faults = []
    failed = [(w, a) for w, a in zip(work, answers) if not a["ok"]]
    for w, a in failed:
        bad = refusals(a, stage_name(w))
        faults += bad
        if not bad and w["kind"] != "check":
            check = worker.ask(graph, [{**w, "kind": "check"}])[0]
            if check["ok"]:
                faults.append(Fault(stage_name(w), "check accepts what this refuses", generalise(a["errors"][0]["what"])))
            elif refused is not None:
                message = generalise(a["errors"][0]["what"])
                refused[message] = refused.get(message, 0) + 1
    if failed:
        return faults
    oracle = oracle or Oracle(graph)
    for w, a in zip(work, answers):
        if w["kind"] == "check" or (w["kind"] == "forward" and any(n.op == "BatchNormalization" for n in graph.nodes)):
            continue  # a forward run reads the running statistics of batch norms, the reference those of the batch
        precisions = precisions_of(graph, w)
        scale = SCALE if w.get("precision") == "fp16" else 1.0
        if not all(oracle.fits(p, scale) for p in precisions) or not oracle.finite():
            continue
        for said in oracle.compare(a["tensors"], precisions, scale, w["kind"] != "forward"):
            what, _, detail = said.partition("|")
            faults.append(Fault(stage_name(w), what, detail))
    return faults


__all__ = ["Fault", "PRECISIONS", "examine", "evaluation", "program", "stage_name"]
