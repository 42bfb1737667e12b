//===- KernelsV4.cpp - The kernels for v4 -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define MPC_ISA v4
#define MPC_VECTOR_BYTES 64
#define MPC_TILE_ROWS 12 // rows of two vectors: as many as the registers hold beside the operands
#define MPC_NO_F64       // Kernels.cpp says why
#include "Kernels.inc"
