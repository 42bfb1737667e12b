#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that tools/ci/run_tests.py counts what ran now. Results of an earlier run, and runners that fail without a message, are
failures."""
import json
import os
import sys

import harness

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools", "ci"))
import run_tests  # noqa: E402


def expect(counts, failed, passed):
    if (counts["failed"], counts["passed"]) != (failed, passed):
        raise harness.Failure(f"{counts}, not {failed} failed and {passed} passed")


def stale(run, name, content):
    """Makes a case with a build folder in which the runner finds nothing to run, with results from before."""
    def case():
        with harness.folder() as build:
            os.mkdir(f"{build}/test")
            with open(f"{build}/test/{name}", "w") as file:
                file.write(content)
            expect(run(build, f"{build}/test"), failed=1, passed=0)
    return case


def verdicts():
    with harness.folder() as folder:
        results = run_tests.fresh(folder, "results")
        none = lambda: {"passed": 3, "failed": 0, "skipped": 0}  # noqa: E731
        expect(run_tests.checked("runner", none(), results, 0), failed=1, passed=3)  # nothing was written
        open(results, "w").close()
        expect(run_tests.checked("runner", none(), results, 0), failed=0, passed=3)
        expect(run_tests.checked("runner", none(), results, 1), failed=1, passed=3)
        expect(run_tests.checked("runner", {"passed": 3, "failed": 2, "skipped": 0}, results, 1), failed=2, passed=3)
        if os.path.exists(run_tests.fresh(folder, "results")):
            raise harness.Failure("old results stay")


def hang():
    """A program that does not end is a failure and not a skip, even if a function runs in it first."""
    for enter in (None, lambda: os.chdir("/")):
        try:
            harness.run(["sleep", "60"], seconds=0.5, enter=enter)
        except harness.Failure as failure:
            if "takes more than 0.5 s" not in str(failure):
                raise
        else:
            raise harness.Failure("a hang passes")


def hanging_script():
    """A script that does not end is a failure that names it, and what it started ends with it."""
    with harness.folder() as folder:
        with open(f"{folder}/hang_test.py", "w") as file:
            file.write("import subprocess\nprint('PASS first', flush=True)\nsubprocess.run(['sleep', '60'])\n")
        status, output = run_tests.run_script(folder, "hang_test.py", folder, seconds=1)
    if status == 0 or output != "PASS first\nFAIL hang_test.py: it takes more than 1 s\n":
        raise harness.Failure(f"status {status}: {output}")


CASES = {
    "hang": hang,
    "hanging-script": hanging_script,
    "stale-lit": stale(lambda build, out: run_tests.run_lit(build, "", out), "lit.json", json.dumps({"tests": [{"code": "PASS"}] * 5})),
    "stale-ctest": stale(run_tests.run_ctest, "ctest.xml", "<testsuite><testcase name='old' status='run'/></testsuite>"),
    "verdicts": verdicts,
}

if __name__ == "__main__":
    OPTIONS = harness.arguments(__doc__)
    harness.main([(f"run-tests/{name}", case) for name, case in CASES.items()], OPTIONS.only)
