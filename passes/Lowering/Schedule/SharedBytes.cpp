//===- SharedBytes.cpp - the shared memory of a block ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Schedule/SharedBytes.h"

using namespace mpc;
using namespace mpc::hero;

int64_t mpc::hero::simtOperandBytes(const Problem &problem, int extent, int tileK) {
  return int64_t(2) * tileK * simtLine(extent) * (problem.accumulator().getIntOrFloatBitWidth() / 8);
}

int64_t mpc::hero::simtSharedBytes(const Problem &problem, const Tile &tile) {
  return simtOperandBytes(problem, tile.m, tile.k) + simtOperandBytes(problem, tile.n, tile.k);
}

int64_t mpc::hero::mmaSharedBytes(const Tile &tile) {
  int64_t ring = tile.stages * (mmaStageBytes(tile.m, tile.k) + mmaStageBytes(tile.n, tile.k));
  return std::max(ring, drainBytes(tile.partN) * tile.workers());
}

int64_t mpc::hero::wgmmaSharedBytes(const Tile &tile) {
  return wgmmaRingBytes(tile) + tile.workers() * wgmmaOutBytes + ringBarrierBytes(tile.stages) + turnBytes(tile);
}
