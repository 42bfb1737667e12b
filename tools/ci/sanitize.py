#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the whole of mpc with assertions under AddressSanitizer and UndefinedBehaviorSanitizer (the preset `sanitize`) and runs lit and the GoogleTests there.

usage: tools/ci/sanitize.py [--jobs N] [--only-build]        `make test-sanitize` runs it

It takes hours on two cores and is not part of `make test`. The check of virtual tables (vptr) is left out, because it needs the type information that the runtime is compiled without (-fno-rtti). LLVM's and oneDNN's libraries are not instrumented. In the containers that our code shares with LLVM, ASan
therefore sees only our half of the marks (detect_container_overflow=0, allow_user_poisoning=0), and memory that LLVM frees only at the end of the process is not a leak of ours (detect_leaks=0). The script
tests (test/**/*_test.py) are left out, because they limit the address space, of which AddressSanitizer reserves terabytes; the runtime has its own sanitizer test (test/runtime/sanitize_test.py).
"""
import argparse
import os
import subprocess
import sys

import run_tests

SOURCE = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.path.join(SOURCE, "build-sanitize")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only-build", action="store_true")
    options = parser.parse_args()
    os.environ["ASAN_OPTIONS"] = "detect_leaks=0:detect_container_overflow=0:allow_user_poisoning=0:detect_odr_violation=0:allocator_may_return_null=1"
    os.environ["UBSAN_OPTIONS"] = "print_stacktrace=1"
    subprocess.run(["cmake", "--preset", "sanitize"], cwd=SOURCE, check=True)
    subprocess.run(["ninja", "-C", BUILD, f"-j{options.jobs}"], check=True)
    if options.only_build:
        return 0
    out = os.path.join(BUILD, "test")
    results = {"lit": run_tests.run_lit(BUILD, SOURCE, out), "ctest": run_tests.run_ctest(BUILD, out)}
    for name, counts in results.items():
        print(f"{name}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    passed, failed = (sum(counts[key] for counts in results.values()) for key in ("passed", "failed"))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
