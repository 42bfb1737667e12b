#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Checks the programs of this folder, measures them beside PyTorch, prints one table (results.md) and writes results.json.
# usage: run.sh [--device=cuda] [--torch=PYTHON] [--steps=N] [--rounds=N] [--only=checks,training,kernels,tuners]
set -euo pipefail
cd "$(dirname "$0")"
command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,power.limit --format=csv || true
exec python3 run.py "$@"
