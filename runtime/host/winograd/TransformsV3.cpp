// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define MPC_ISA v3
#define MPC_VECTOR_BYTES 32
#include "Transforms.inc"
