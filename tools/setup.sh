#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Installs the apt packages that mpc's build and tests need and the machine lacks; tried on Debian 12.
# MLIR 22 may need LLVM's own apt repository, which must be set up first (the error below says so).
set -euo pipefail
packages=(
  g++ cmake ninja-build ccache make
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools lld-22 liblld-22-dev zlib1g-dev libzstd-dev
  libonnx-dev libprotobuf-dev protobuf-compiler
  libdnnl-dev
  libjpeg62-turbo-dev libspng-dev
  nlohmann-json3-dev libcli11-dev
  clang-22 libclang-rt-22-dev # only for the fuzz targets and the sanitizers
  clang-format-22 clang-tidy-22
  libgtest-dev libonnx-testdata python3 python3-numpy python3-onnx
)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "installing: ${missing[*]}"
sudo=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "error: not root and no sudo; install by hand: ${missing[*]}" >&2; exit 1; }
  sudo=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
"${sudo[@]}" apt-get update -qq
for package in "${missing[@]}"; do
  apt-cache show "$package" >/dev/null 2>&1 && continue
  echo "error: no package '$package' in the configured apt repositories" >&2
  echo "hint: MLIR 22 comes from LLVM's apt repository (llvm-toolchain, version 22); add it for this distribution, then run again" >&2
  exit 1
done
"${sudo[@]}" apt-get install -y -qq "${missing[@]}"
