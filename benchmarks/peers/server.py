# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Drives training.py, which waits for work on its standard input."""
import json
import os
import statistics
import subprocess


class Peer:
    """Runs a training.py of one network, precision and mode; `python` must have torch."""

    def __init__(self, python, network, model, batch, precision, mode, device, *threads):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "training.py")
        command = [python, script, network, model, batch, precision, mode, device, *threads]
        self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)
        self.mode = mode
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{network} {precision} {mode}: {self.process.stderr.read()[-2000:]}")
        self.version = json.loads(line)["torch"]

    def median(self, steps):
        """Runs `steps` steps and returns the seconds of the median step."""
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return statistics.median(json.loads(self.process.stdout.readline()))

    def peak_bytes(self):
        """Returns the most memory that the process has had so far."""
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

    def close(self):
        self.process.stdin.close()
        self.process.wait()
