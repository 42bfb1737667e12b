//===- KernelsBaseline.cpp - The kernels for baseline -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define MPC_ISA baseline
#define MPC_VECTOR_BYTES 16
#define MPC_TILE_ROWS 4 // rows of two vectors: as many as the registers hold beside the operands
#include "Kernels.inc"
