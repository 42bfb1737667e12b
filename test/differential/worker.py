# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mpc-differential process: it takes one graph after the other. A graph that crashes it or takes too long is an answer too."""
import json
import os
import resource
import select
import signal
import subprocess
import tempfile

import numpy as np


class Ended(Exception):
    """The process crashed or was stopped because it hung. The text says what is known of it."""


class Worker:
    def __init__(self, binary, folder, seconds=6, memory_bytes=6 << 30):
        self.binary, self.folder, self.seconds, self.memory_bytes = binary, folder, seconds, memory_bytes
        self.process, self.served = None, 0

    def start(self):
        self.errors = tempfile.TemporaryFile()

        def limits():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_AS, (self.memory_bytes, self.memory_bytes))
        self.process = subprocess.Popen([self.binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, preexec_fn=limits)
        self.served = 0

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, graph, work):
        """Returns the answers for a graph's work: dictionaries with ok, errors and tensors by name. Raises Ended."""
        if self.process and self.served > 2000:  # a fresh process from time to time keeps leaks small; this is not where leaks are looked for
            self.stop()
        if not self.process:
            self.start()
        self.served += 1
        model, data, out = (os.path.join(self.folder, name) for name in ("model.onnx", "data.npz", "out.bin"))
        graph.save(model, data)
        request = {"model": model, "data": data, "out": out, "loss": graph.loss_option(), "trainable": "^p[0-9]+$", "work": work}
        line = self.exchange(json.dumps(request) + "\n")
        values = np.fromfile(out, np.float64)
        answers = json.loads(line)
        for answer in answers:
            answer["tensors"] = {t["name"]: values[t["offset"]:t["offset"] + int(np.prod(t["shape"], dtype=np.int64))].reshape(t["shape"]) for t in answer["tensors"]}
        return answers

    def exchange(self, text):
        try:
            self.process.stdin.write(text.encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        received, started = b"", self.cpu_seconds()
        while not received.endswith(b"\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], self.seconds)
            if not ready and self.cpu_seconds() - started < self.seconds:
                continue  # it has not used its time yet, because other processes have the CPU
            if not ready:
                self.stop()
                raise Ended(f"hangs: more than {self.seconds} s")
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            if not part:
                raise Ended(self.reason())
            received += part
        return received.decode(errors="replace")

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def reason(self):
        status = self.process.wait()
        self.process = None
        self.errors.seek(0)
        said = self.errors.read().decode(errors="replace").strip().splitlines()
        how = f"crashes: {signal.Signals(-status).name}" if status < 0 else f"ends with status {status}"
        return how + (": " + said[0][:200] if said else "")
