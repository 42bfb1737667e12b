//===- GraphOps.td - all ops of the graph dialect ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_GRAPH_OPS
#define MPC_GRAPH_OPS
include "dialects/Graph/IR/MathOps.td"
include "dialects/Graph/IR/ReduceOps.td"
include "dialects/Graph/IR/TensorOps.td"
include "dialects/Graph/IR/NNOps.td"
include "dialects/Graph/IR/AttentionOps.td"
include "dialects/Graph/IR/ScanOps.td"
#endif
