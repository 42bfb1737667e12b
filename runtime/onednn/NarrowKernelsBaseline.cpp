// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define MPC_ISA baseline
#define MPC_VECTOR_BYTES 16
#define MPC_TILE_ROWS 4
#include "NarrowKernels.inc"
