// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define MPC_ISA v4
#define MPC_VECTOR_BYTES 64
#include "Transforms.inc"
