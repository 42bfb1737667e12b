# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the script tests share: each case is one line `PASS name`, `FAIL name: why` or `SKIP name: why`.

tools/ci/run_tests.py runs every *_test.py below test/ with --build and counts these lines.
"""
import argparse
import concurrent.futures
import errno
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
import traceback


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", required=True, help="build folder")
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    parsed = parser.parse_args()
    parsed.bin = os.path.join(os.path.abspath(parsed.build), "bin")
    return parsed


def limits(memory_bytes=None, file_bytes=None):
    """Returns a function that limits what a started process may use; it also disables core files."""
    def apply():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if memory_bytes:
            resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        if file_bytes:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    return apply


def run(command, cwd=None, seconds=120, memory_bytes=8 << 30, environment=None, enter=None):
    """Returns (exit status, stdout, stderr); a negative status is a signal. Raises Failure when it takes too long. `enter` runs in the started process before
    it becomes the command."""
    def prepare():
        limits(memory_bytes)()
        if enter:
            enter()
    try:
        done = started([str(part) for part in command], cwd=cwd, timeout=seconds, stdin=subprocess.DEVNULL, capture_output=True, preexec_fn=prepare,
                       env=environment)
    except subprocess.TimeoutExpired:
        raise Failure(f"takes more than {seconds} s: {' '.join(map(str, command))}") from None
    return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


def usage(command, cwd=None, seconds=120):
    """Returns (CPU seconds, peak bytes) of a command that must succeed."""
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen([str(part) for part in command], cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said, preexec_fn=limits())
        killer = threading.Timer(seconds, process.kill)
        killer.start()
        _, status, used = os.wait4(process.pid, 0)
        killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)  # wait4 has collected it, so Popen must not
        if process.returncode != 0:
            said.seek(0)
            raise Failure(f"status {process.returncode} from {' '.join(map(str, command))}, given {seconds} s\n{said.read()[-2000:].decode(errors='replace')}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss << 10


def started(command, attempts=100, **options):
    """Calls subprocess.run, and repeats it on ETXTBSY: a program just written may be held open for a moment by a process that another thread forks."""
    for _ in range(attempts - 1):
        try:
            return subprocess.run(command, **options)
        except OSError as error:
            if error.errno != errno.ETXTBSY:
                raise
            time.sleep(0.01)
    return subprocess.run(command, **options)


def must(command, **options):
    """Returns stdout of a command that must succeed."""
    status, out, err = run(command, **options)
    if status != 0:
        raise Failure(f"status {status} from {' '.join(map(str, command))}\n{err[-2000:]}")
    return out


def main(cases, only="", jobs=None):
    """Runs (name, function) pairs in parallel, prints a line for each in their order, and exits with 1 if one failed."""
    def attempt(function):
        try:
            function()
            return "PASS", ""
        except Skip as skip:
            return "SKIP", str(skip)
        except Failure as failure:
            return "FAIL", str(failure)
        except Exception:  # a defect of the test itself
            return "FAIL", traceback.format_exc()

    chosen = [(name, function) for name, function in cases if only in name]
    failed, out = 0, sys.stdout  # a case that runs now may have redirected sys.stdout
    with concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        for (name, _), (verdict, why) in zip(chosen, pool.map(attempt, [function for _, function in chosen])):
            print(f"{verdict} {name}" + (f": {why}" if why else ""), file=out, flush=True)
            failed += verdict == "FAIL"
    sys.exit(1 if failed or not chosen else 0)


def folder():
    """Returns a temporary folder as a context manager."""
    return tempfile.TemporaryDirectory(prefix="mpc-test-")
