#!/usr/bin/python3
"""ONNX's node tests (Debian's libonnx-testdata) through compiled host kernels: how many pass, and that none fails."""
import os
import re

import harness

FOLDER = "/usr/share/libonnx-testdata/data/node"
LEAST = 400


def node_tests(bin_folder):
    if not os.path.isdir(FOLDER):
        raise harness.Skip(f"no {FOLDER} (package libonnx-testdata)")
    status, out, err = harness.run([bin_folder + "/mpc-conformance", "--verbose", FOLDER], seconds=600, memory_bytes=16 << 30)
    total = re.search(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", out.strip().splitlines()[-1] if out.strip() else "")
    if not total:
        raise harness.Failure(f"status {status}, no total line\n{out[-1000:]}{err[-1000:]}")
    passed, failed, skipped = map(int, total.groups())
    failures = [line for line in out.splitlines() if line.startswith("FAIL ")]
    if failed or status or failures:
        raise harness.Failure(f"{failed} failed, status {status}\n" + "\n".join(failures))
    if passed < LEAST:
        raise harness.Failure(f"{passed} passed, fewer than {LEAST}")
    folders = sum(os.path.exists(os.path.join(FOLDER, name, "model.onnx")) for name in os.listdir(FOLDER))
    if passed + skipped != folders:
        raise harness.Failure(f"{passed} passed and {skipped} skipped of {folders} folders")
    # A skip names an op (or its domain) and says what about it is not supported.
    unnamed = [line for line in out.splitlines() if line.startswith("SKIP ") and not re.match(r"SKIP \w+: [A-Z][\w, ]+: \S", line)]
    if unnamed:
        raise harness.Failure("skips that name no op:\n" + "\n".join(unnamed))


if __name__ == "__main__":
    options = harness.arguments(__doc__)
    harness.main([("conformance/node", lambda: node_tests(options.bin))], options.only)
