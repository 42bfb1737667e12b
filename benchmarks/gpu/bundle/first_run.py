#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program behind first-run.sh: the first programs on a new GPU machine, in the order in which a fault is understood best. It prints one table, writes first-run.md, and exits with status 1 when a
step fails. Each step has a limit of time; together they stay below ten minutes, whatever hangs.

1. info            what the machine and the program say
2. launches        one training step of each network, launch by launch: fp32, then fp16 and bf16; a launch that hangs is named
3. memcheck        the same under compute-sanitizer, where that tool is
4. racecheck       the same
5. trace           losses and gradients of some steps against the host's
6. tuner           every schedule of a product computes the same bits
7. step            time of a training step, launch by launch, against the step report
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time

import check

# The seconds of each step, and of one program within it. The sum leaves time to unpack the programs.
LIMITS = {"info": (15, 15), "launches": (40, 20), "memcheck": (90, 45), "racecheck": (90, 45), "trace": (40, 20), "tuner": (200, 60), "step": (90, 30)}
assert sum(seconds for seconds, _ in LIMITS.values()) <= 570
SANITIZERS = ("/usr/local/cuda/bin/compute-sanitizer", "/usr/local/cuda/compute-sanitizer/compute-sanitizer")
FOUND = 86  # the exit status of compute-sanitizer when it found something
PRECISIONS = ("fp32", "fp16", "bf16")


class Failed(Exception):
    """A program failed; the text is for the table."""


class Limit:
    """Runs programs until the time of a step is up. `scale` stretches the times, for slower devices."""

    def __init__(self, step, scale):
        seconds, self.most = (limit * scale for limit in LIMITS[step])
        self.end = time.monotonic() + seconds

    def run(self, *command):
        """Returns the status, standard output and error of a program. Ends it, and all that it started, when its time is up."""
        seconds = min(self.most, self.end - time.monotonic())
        if seconds <= 0:
            raise Failed("not run: the time of this step is up")
        process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            try:
                process.communicate(timeout=5)
            except subprocess.TimeoutExpired:  # the kernel still waits for the GPU
                pass
            raise Failed(f"ended after {seconds:.0f} s") from None
        return process.returncode, out, err


def reason(err):
    """Returns the first line that tells why a program failed."""
    lines = err.strip().splitlines() or ["no message"]
    return next((line for line in lines if line.startswith("error")), lines[-1])


class FirstRun:
    def __init__(self, options, index):
        self.options, self.index, self.rows, self.failed, self.gpu = options, index, [], False, ""
        self.sanitizer = options.sanitizer or shutil.which("compute-sanitizer") or next(filter(os.path.exists, SANITIZERS), None)
        self.cases = sorted(index["checks"], key=lambda case: PRECISIONS.index(case["precision"]))

    def row(self, step, name, precision, work):
        """Adds a row with what `work` returns, or with what it failed with."""
        begin, mark = time.monotonic(), "ok"
        try:
            result = work()
        except Failed as failed:
            mark, result = "**failed**", str(failed).replace("|", "\\|")
            self.failed = True
        self.rows.append(f"| {step} | {name} | {precision} | {time.monotonic() - begin:.1f} | {mark} | {result} |")
        print(self.rows[-1], file=sys.stderr, flush=True)

    def skip(self, step, why):
        self.rows.append(f"| {step} | – | – | – | skipped | {why} |")

    def limit(self, step):
        return Limit(step, self.options.scale)

    def good(self, limit, *command):
        status, out, err = limit.run(*command)
        if status:
            raise Failed(f"status {status}: {reason(err)}")
        return out

    def trace(self, case, steps, *more):
        return (case["program"], "trace", f"--device={self.options.device}", "--lr=0.001", "--data", case["data"], "--steps", steps, "--out", "first-run.npz", *more)

    def checked(self, case, limit):
        """Returns the command of one step, launch by launch. A launch that hangs is named before its program is ended."""
        return self.trace(case, 1, "--check-launches", *([f"--launch-timeout={limit.most * 0.6:g}"] if self.options.device == "cuda" else []))

    def info(self):
        """Returns whether there is a device for the other steps."""
        limit = self.limit("info")
        def work():
            self.gpu = json.loads(self.good(limit, self.cases[0]["program"], "info", "--json")).get("gpu", "")
            if not self.gpu and self.options.device == "cuda":  # the error of a program that needs a GPU says what is missing
                self.good(limit, *self.trace(self.cases[0], 1))
            return self.gpu or "no GPU"
        self.row("info", "–", "–", work)
        return not self.failed

    def launches(self):
        limit = self.limit("launches")
        for case in self.cases:
            def work():
                self.good(limit, *self.checked(case, limit))
                return "every launch ended"
            self.row("launches", case["network"], case["precision"], work)

    def sanitize(self, tool):
        if not self.sanitizer:
            return self.skip(tool, "no compute-sanitizer here: it comes with the CUDA toolkit; --sanitizer=PATH names one")
        limit = self.limit(tool)
        for case in self.cases:
            def work():
                status, out, err = limit.run(self.sanitizer, "--tool", tool, "--error-exitcode", FOUND, *self.checked(case, limit))
                said = [line.lstrip("= ") for line in (out + err).splitlines() if line.startswith("=========")]
                summary = next((line for line in said if "SUMMARY" in line), "no summary")
                if status:
                    found = next((line for line in said if line and "COMPUTE-SANITIZER" not in line), "")
                    raise Failed(f"{summary}; the first: {found}" if status == FOUND else f"status {status}: {reason(err)}")
                return summary
            self.row(tool, case["network"], case["precision"], work)

    def traces(self):
        limit = self.limit("trace")
        for case in self.cases:
            def work():
                self.good(limit, *self.trace(case, case["steps"]))
                curve, gradient, wrong = check.compare(check.read("first-run.npz"), check.read(case["expected"]), case["precision"])
                if wrong:
                    raise Failed("differs from the host: " + "; ".join(wrong))
                return f"as on the host: losses {curve:.1e}, gradients {gradient:.1e}"
            self.row("trace", case["network"], case["precision"], work)

    def tuners(self):
        limit = self.limit("tuner")
        effort = ("--iterations=1", "--seconds=0") if self.options.device == "cuda" else ()
        for case in self.index["tuners"]:
            def work():
                self.good(limit, case["program"], f"--device={self.options.device}", "--out", "first-run.tune.json", *effort)
                with open("first-run.tune.json") as file:
                    problems = json.load(file)["problems"]
                return f"{sum(len(problem['candidates']) for problem in problems)} schedules of {len(problems)} products give the same bits"
            self.row("tuner", case["name"], case["precision"], work)

    def steps(self):
        limit = self.limit("step")
        for case in self.index["training"]:
            def work():
                report = case["report"]
                part = next((name for name in report["expected_ms"] if name.split()[0] in self.gpu), next(iter(report["expected_ms"])))
                measured = json.loads(self.good(limit, case["program"], "bench", f"--device={self.options.device}", "--json", "--profile", f"--steps={self.options.steps}", "--warmup=1"))
                launches = measured["launches"]
                ms, expected, slowest = sum(launch["ms"] for launch in launches), report["expected_ms"][part], launches[0]
                if len(launches) != report["launch_count"]:
                    raise Failed(f"{len(launches)} launches, and {report['launch_count']} in the step report")
                return f"{ms:.3f} ms in {len(launches)} launches, {ms / expected:.2f} of the {expected:.3f} ms expected on {part}; the slowest: {slowest['name']}, {slowest['ms']:.3f} ms"
            self.row("step", f"{case['network']}, batch {case['batch']}", case["precision"], work)

    def run(self, step):
        if step in ("memcheck", "racecheck"):
            return self.sanitize(step)
        return {"launches": self.launches, "trace": self.traces, "tuner": self.tuners, "step": self.steps}[step]()

    def table(self):
        title = f"First run on {self.gpu or self.options.device}"
        return "\n".join([title, "", "| step | network | precision | s | | result |", "|---|---|---|---|---|---|", *self.rows, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sanitizer", help="compute-sanitizer; default: on the PATH or in /usr/local/cuda")
    parser.add_argument("--only", default=",".join(list(LIMITS)[1:]), help="steps behind info, joined with ','")
    parser.add_argument("--steps", type=int, default=10, help="measured training steps")
    parser.add_argument("--scale", type=float, default=1, help="factor of all limits of time")
    options = parser.parse_args()
    if not os.path.isdir("programs"):
        with tarfile.open("programs.tar.xz") as archive:
            archive.extractall(".")
    with open("index.json") as file:
        first = FirstRun(options, json.load(file))
    if first.info():
        for step in options.only.split(","):
            first.run(step)
    print(first.table())
    with open("first-run.md", "w") as file:
        file.write(first.table())
    sys.exit(first.failed)


if __name__ == "__main__":
    main()
