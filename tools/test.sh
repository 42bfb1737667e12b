#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs every test of a build folder and prints one total line: `N passed, N failed, N skipped`.
# usage: tools/test.sh BUILD_DIR [--quick]
set -uo pipefail
build=$(cd "${1:-build}" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
cd "$source"
exec python3 tools/ci/run_tests.py --build "$build" --source "$source" "${@:2}"
