//===- KernelsV3.cpp - The kernels for v3 -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define MPC_ISA v3
#define MPC_VECTOR_BYTES 32
#define MPC_TILE_ROWS 6 // rows of two vectors: as many as the registers hold beside the operands
#include "Kernels.inc"
