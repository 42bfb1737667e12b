//===- KernelsBaseline.cpp - The kernels for baseline -----------------------===//
#define MPC_ISA baseline
#define MPC_VECTOR_BYTES 16
#define MPC_TILE_ROWS 4 // of two vectors each: what the registers hold beside the operands
#include "Kernels.inc"
