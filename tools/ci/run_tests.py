#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the include rules, the format, the phrases and the licence line of all files, runs lit, CTest and the script tests (test/**/*_test.py), and adds up their counts.

usage: tools/ci/run_tests.py --build build --source . [--quick]        `make test` and `make test-quick` run it

As many tests run at a time as the machine has cores. The script prints each failure's output and, last, `N passed, N failed, N skipped`. BUILD/test/times.md lists the slowest tests.
Exits with status 1 when something failed or nothing ran. --quick runs the part that finds most faults of compiler and runtime in two minutes (QUICK below).
"""
import argparse
import concurrent.futures
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as xml

import clang_format
import include_rules
import license_headers
import phrases


TIMES = []  # (seconds, runner, test) of every test that ran
RUNNING = set()  # the processes that run now, each with a session of its own
STOPPED = threading.Event()  # set when the user ends the run


def fresh(out, name):
    """Returns a path for results, after removing the file that an earlier run left there."""
    path = os.path.join(out, name)
    if os.path.exists(path):
        os.remove(path)
    return path


def run(command, seconds=None, **options):
    """Runs a command in a session of its own, so that its children end with it. Returns (exit status, output). Raises subprocess.TimeoutExpired when all of them were ended."""
    if STOPPED.is_set():
        return 1, ""
    process = subprocess.Popen(command, start_new_session=True, text=True, **options)
    RUNNING.add(process)
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as expired:
        os.killpg(process.pid, signal.SIGKILL)
        expired.output, _ = process.communicate()
        raise
    finally:
        RUNNING.discard(process)
    return process.returncode, output


def stop():
    """Ends all that run, and keeps others from starting."""
    STOPPED.set()
    for process in list(RUNNING):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)


def checked(name, counts, results, status):
    """Counts a failure for a runner that wrote no results, or that ended badly without a failed test."""
    if counts["failed"] == 0 and (status != 0 or not os.path.exists(results)):
        counts["failed"] = 1
        print(f"FAIL: {name}: status {status}, " + ("without a test that failed" if os.path.exists(results) else "without results"))
    return counts


# What `--quick` runs: folders of lit, suites of GoogleTest and scripts.
QUICK = {
    "lit": ["dialects", "passes", "e2e/scaling", "e2e/optimizers", "runtime/cuda"],
    "ctest": "^((Ops/)?Gradient|LossScaling|Clipping|Accumulation|Calibration|Sgd|Ada|Lamb|Lars|Lion|NAdam|RMSprop|Optimizers|MasterWeights|SampleLoss|Decompose|OpKernel|ColumnSums.(Chosen|Mma|Simt|Wgmma$)|mpc-runtime-tests|Wgmma.*Matmul1)",
    "scripts": ["e2e/loss_options_test.py", "e2e/scan_test.py"],
}

# The scripts that take more than half a minute start first, so that none of them is left for the end while a core is idle. fuzz_test.py is not among them, for it would wait for what
# sanitize_test.py builds.
LONG_SCRIPTS = ["test/runtime/sanitize_test.py", "test/e2e/scan_test.py", "test/e2e/exported_graphs_test.py", "test/differential/recorded_test.py", "test/tools/mutants_test.py",
                "test/tools/pipelines_test.py", "test/tools/faults_test.py", "test/tools/conformance_test.py", "test/e2e/training_forms_test.py"]
SCRIPT_SECONDS = 2700  # A script that takes longer hangs: sanitize_test.py builds for 10 minutes on two slow cores, then runs for 5, and twice that beside another script.


def run_lit(build, source, out, folders=("",)):
    """`folders` are relative to test/; the empty one stands for all tests."""
    lit = next(p for p in ("/usr/lib/llvm-22/bin/lit", "lit") if p == "lit" or os.path.exists(p))
    results = fresh(out, "lit.json")
    code, _ = run([lit, "-q", "-v", "--output", results, "-j", str(os.cpu_count()), *(os.path.join(build, "test", folder) for folder in folders)])
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for test in json.load(open(results))["tests"] if os.path.exists(results) else []:
        if test["code"] in ("PASS", "XFAIL"):
            counts["passed"] += 1
        elif test["code"] in ("UNSUPPORTED", "SKIPPED"):
            counts["skipped"] += 1
        else:
            counts["failed"] += 1
        TIMES.append((test.get("elapsed", 0), "lit", test.get("name", "").removeprefix("mpc :: ")))
    return checked("lit", counts, results, code)


def run_ctest(build, out, names=""):
    """`names` is a regular expression; the empty one stands for all tests."""
    results = fresh(out, "ctest.xml")
    code, _ = run(["ctest", "--test-dir", build, "--no-tests=error", "--output-on-failure", "--output-junit", results,
                            "-j", str(os.cpu_count()), *(["-R", names] if names else [])], stdout=open(os.path.join(out, "ctest.log"), "w"))
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in xml.parse(results).getroot().iter("testcase") if os.path.exists(results) else []:
        status = case.get("status")
        TIMES.append((float(case.get("time") or 0), "ctest", case.get("name")))
        if status == "run":
            counts["passed"] += 1
        elif status in ("notrun", "disabled") or case.find("skipped") is not None:
            counts["skipped"] += 1
            message = case.find("skipped")
            print(f"SKIP: {case.get('name')}: {message.get('message') if message is not None else ''}")
        else:
            counts["failed"] += 1
            print(f"FAIL: {case.get('name')}\n{(case.findtext('system-out') or '')[-4000:]}")
    return checked("ctest", counts, results, code)


def run_script(source, script, build, seconds=SCRIPT_SECONDS):
    """Returns (exit status, output) of one script test, whose standard error goes to this process's. One that takes longer than `seconds` is ended with all that it started."""
    start = time.monotonic()
    try:
        status, output = run(["/usr/bin/python3", "-B", os.path.join(source, script), "--build", build], seconds, stdout=subprocess.PIPE)
    except subprocess.TimeoutExpired as expired:
        status, output = 1, f"{expired.output}FAIL {script}: it takes more than {seconds} s\n"
    taken = time.monotonic() - start
    TIMES.append((taken, "script", script))
    print(f"{script}: {taken:.0f} s", flush=True)
    return status, output


def run_scripts(build, source, chosen=()):
    """Runs scripts that print `PASS name`, `FAIL name: why` or `SKIP name: why` for each of their cases (test/tools/harness.py): those that are `chosen`, or all."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    keys = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
    scripts = [os.path.join("test", name) for name in chosen] or [
        os.path.relpath(os.path.join(folder, name), source) for folder, _, files in os.walk(os.path.join(source, "test")) for name in files if name.endswith("_test.py")]
    scripts.sort(key=lambda script: (LONG_SCRIPTS.index(script) if script in LONG_SCRIPTS else len(LONG_SCRIPTS), script))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            done = list(pool.map(lambda script: run_script(source, script, build), scripts))
        except KeyboardInterrupt:
            stop()
            raise
    for script, (status, output) in sorted(zip(scripts, done)):
        failed = counts["failed"]
        passing = True  # whether the next lines belong to a case that passed
        for line in output.splitlines():
            verdict = line.split(" ", 1)[0]
            if verdict in keys:
                counts[keys[verdict]] += 1
                passing = verdict == "PASS"
            if not passing:
                print(line)
        if status != 0 and counts["failed"] == failed:
            counts["failed"] += 1
            print(f"FAIL {script}: status {status} without a case that failed")
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    arguments.build, arguments.source = os.path.abspath(arguments.build), os.path.abspath(arguments.source)
    out = os.path.join(arguments.build, "test")
    total = {"passed": 0, "failed": 0, "skipped": 0}

    for name, check in (("include rules", include_rules.violations), ("format", clang_format.unformatted), ("phrases", phrases.violations),
                        ("licence", license_headers.violations)):
        violations = check(arguments.source)
        for violation in violations:
            print(f"FAIL: {name}: {violation}")
        total["failed" if violations else "passed"] += 1

    chosen = QUICK if arguments.quick else {"lit": [""], "ctest": "", "scripts": []}
    runners = {"lit": lambda: run_lit(arguments.build, arguments.source, out, chosen["lit"]), "ctest": lambda: run_ctest(arguments.build, out, chosen["ctest"]),
               "scripts": lambda: run_scripts(arguments.build, arguments.source, chosen["scripts"])}

    def timed(name):
        start = time.monotonic()
        return runners[name](), time.monotonic() - start

    spent = []
    with concurrent.futures.ThreadPoolExecutor(len(runners)) as beside:
        try:
            # No runner of --quick keeps the cores busy to its end, so that they run beside each other.
            done = dict(zip(runners, (beside.map if arguments.quick else map)(timed, runners)))
        except KeyboardInterrupt:
            stop()
            raise
    for name, (counts, seconds) in done.items():
        spent.append(f"{name} {seconds:.0f} s")
        print(f"{name}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
        for key in total:
            total[key] += counts[key]
    with open(os.path.join(out, "times.md"), "w", encoding="utf-8") as file:
        file.write(f"{', '.join(spent)}\n\n| s | | test |\n|---|---|---|\n" + "".join(f"| {s:.1f} | {runner} | {test} |\n" for s, runner, test in sorted(TIMES, reverse=True)[:100]))
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
