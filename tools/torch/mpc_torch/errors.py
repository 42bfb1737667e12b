# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The error that every part of the tool raises, and the place in the user's code that an error or a note is about."""
import os
import re
import sys

import torch

TORCH = os.path.dirname(os.path.abspath(torch.__file__))
TOOL = os.path.dirname(os.path.abspath(__file__))
COMMAND = os.path.join(os.path.dirname(TOOL), "export.py")
DEFECT = "hint: this is a defect of this torch version's exporter; try another version"
LIBRARY = os.path.dirname(os.path.abspath(os.__file__))


class ExportError(Exception):
    """Says what is wrong, and in a second line what to do."""


def is_users(file):
    """Tells whether a file is neither Python's, nor torch's, nor of this tool. `<string>` and frozen modules are no files."""
    path = os.path.abspath(file)
    library = path.startswith(LIBRARY + os.sep) and "site-packages" not in path
    return os.path.exists(file) and not library and not path.startswith((TORCH + os.sep, TOOL + os.sep)) and path != COMMAND


def place_now():
    """Returns `file:line` of the innermost call in the user's code, or "" where there is none."""
    frame = sys._getframe(1)
    while frame is not None:
        if is_users(frame.f_code.co_filename):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


def place_of(error):
    """Returns `file:line` of the user's code where an error of torch comes from, or "". An error about a node of a graph has the place in the node."""
    found, text = "", str(error)
    trace = error.__traceback__
    while trace is not None:
        if is_users(trace.tb_frame.f_code.co_filename):
            found = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        node = trace.tb_frame.f_locals.get("node")
        if isinstance(node, torch.fx.Node):
            text += str(node.meta.get("stack_trace", ""))
        trace = trace.tb_next
    for file, line in re.findall(r'File "([^"]+)", line (\d+)', text):
        if is_users(file):
            found = f"{file}:{line}"
    return found


def at(place):
    return f" ({place})" if place else ""
