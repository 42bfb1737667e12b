// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define MPC_ISA v3
#define MPC_VECTOR_BYTES 32
#define MPC_TILE_ROWS 6
#include "NarrowKernels.inc"
