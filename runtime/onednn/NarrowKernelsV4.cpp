// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define MPC_ISA v4
#define MPC_VECTOR_BYTES 64
#define MPC_TILE_ROWS 12
#include "NarrowKernels.inc"
