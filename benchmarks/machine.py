# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names the machine that a measurement ran on."""
import platform


def cpu():
    """Returns the CPU's model name."""
    with open("/proc/cpuinfo") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), platform.machine())
