#!/usr/bin/env python3
"""Checks the include rules and the format of all files, runs lit, CTest and the script tests (test/**/*_test.py), and adds up their counts.

Prints each failure's output and, last, `N passed, N failed, N skipped`. Exits with status 1 when something failed or nothing ran.
"""
import argparse
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as xml

import clang_format
import include_rules


def fresh(out, name):
    """Returns a path for results, after removing the file that an earlier run left there."""
    path = os.path.join(out, name)
    if os.path.exists(path):
        os.remove(path)
    return path


def checked(name, counts, results, status):
    """Counts a failure for a runner that wrote no results, or that ended badly without a failed test."""
    if counts["failed"] == 0 and (status != 0 or not os.path.exists(results)):
        counts["failed"] = 1
        print(f"FAIL: {name}: status {status}, " + ("without a test that failed" if os.path.exists(results) else "without results"))
    return counts


def run_lit(build, source, out):
    lit = next(p for p in ("/usr/lib/llvm-22/bin/lit", "lit") if p == "lit" or os.path.exists(p))
    results = fresh(out, "lit.json")
    code = subprocess.call([lit, "-q", "-v", "--output", results, "-j", str(os.cpu_count()), os.path.join(build, "test")])
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for test in json.load(open(results))["tests"] if os.path.exists(results) else []:
        if test["code"] in ("PASS", "XFAIL"):
            counts["passed"] += 1
        elif test["code"] in ("UNSUPPORTED", "SKIPPED"):
            counts["skipped"] += 1
        else:
            counts["failed"] += 1
    return checked("lit", counts, results, code)


def run_ctest(build, out):
    results = fresh(out, "ctest.xml")
    code = subprocess.call(["ctest", "--test-dir", build, "--no-tests=error", "--output-on-failure", "--output-junit", results,
                            "-j", str(os.cpu_count())], stdout=open(os.path.join(out, "ctest.log"), "w"))
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for case in xml.parse(results).getroot().iter("testcase") if os.path.exists(results) else []:
        status = case.get("status")
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


def run_scripts(build, source):
    """Runs scripts that print `PASS name`, `FAIL name: why` or `SKIP name: why` for each of their cases (test/tools/harness.py)."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    keys = {"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}
    scripts = sorted(os.path.join(folder, name) for folder, _, files in os.walk(os.path.join(source, "test"))
                     for name in files if name.endswith("_test.py"))
    for script in scripts:
        done = subprocess.run(["/usr/bin/python3", "-B", script, "--build", build], stdout=subprocess.PIPE, text=True)
        failed = counts["failed"]
        passing = True  # whether the next lines belong to a case that passed
        for line in done.stdout.splitlines():
            verdict = line.split(" ", 1)[0]
            if verdict in keys:
                counts[keys[verdict]] += 1
                passing = verdict == "PASS"
            if not passing:
                print(line)
        if done.returncode != 0 and counts["failed"] == failed:
            counts["failed"] += 1
            print(f"FAIL {os.path.relpath(script, source)}: status {done.returncode} without a case that failed")
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True)
    parser.add_argument("--source", required=True)
    arguments = parser.parse_args()
    arguments.build, arguments.source = os.path.abspath(arguments.build), os.path.abspath(arguments.source)
    out = os.path.join(arguments.build, "test")
    total = {"passed": 0, "failed": 0, "skipped": 0}

    for name, check in (("include rules", include_rules.violations), ("format", clang_format.unformatted)):
        violations = check(arguments.source)
        for violation in violations:
            print(f"FAIL: {name}: {violation}")
        total["failed" if violations else "passed"] += 1

    lit = run_lit(arguments.build, arguments.source, out)
    tests = run_ctest(arguments.build, out)
    scripts = run_scripts(arguments.build, arguments.source)
    for name, counts in (("lit", lit), ("ctest", tests), ("scripts", scripts)):
        print(f"{name}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
        for key in total:
            total[key] += counts[key]
    print(f"{total['passed']} passed, {total['failed']} failed, {total['skipped']} skipped")
    return 1 if total["failed"] or not total["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
