#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs the programs of this folder for the first time on a machine, in less than ten minutes: info, launch by launch, memcheck, racecheck, against the host, schedules against each other, times against the
# step report. It prints one table and writes it to first-run.md.
# usage: first-run.sh [--device=cuda] [--sanitizer=PATH] [--only=launches,memcheck,racecheck,trace,tuner,step] [--steps=N] [--scale=FACTOR]
set -euo pipefail
cd "$(dirname "$0")"
exec python3 first_run.py "$@"
