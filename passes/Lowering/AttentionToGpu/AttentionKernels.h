//===- AttentionKernels.h - the kernels of attention and of its gradient ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each kernel is the code of one thread. A block computes `rows` rows of one head, 16 in each warp, and takes
// `columns` of the other side at a time, which come into shared memory by asynchronous copies, two tiles in turns.
//
//===----------------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_ATTENTIONTOGPU_ATTENTIONKERNELS_H
#define MPC_LOWERING_ATTENTIONTOGPU_ATTENTIONKERNELS_H
#include "passes/Lowering/AttentionToGpu/Scores.h"

namespace mpc::attention {

/// These are numbers of a schedule (#kernel.contraction).
struct Tiles {
  int64_t rows, columns;
  bool byWarpgroup; ///< wgmma computes the products of a block's 64 rows; else mma.sync those of each warp
  int threads() const { return int(rows / 16 * 32); }
};

/// A kernel reads and writes these tensors. Pointers are null where the dispatch does not ask for a result.
struct Tensors {
  HeadLayout q, k, v, dy;            ///< dy of the gradient
  HeadLayout largest, logSum, delta; ///< [B, H, M, 1] in f32: results of the forward pass, operands of the gradient
  HeadLayout y, dq, dk, dv;
};

/// This is what the code of a kernel is made from.
struct Kernel {
  ElementEmitter &e;
  mlir::Operation *op; ///< the attention or its gradient
  const graph::AttentionForm &form;
  Tiles tiles;
  int64_t sharedBytes; ///< of a block
  Tensors tensors;
};

/// Computes y, largest and log_sum of graph.attention (Dao 2023, algorithm 1): a block has some queries and walks over
/// the keys.
void emitForward(const Kernel &kernel);
/// Computes dq as the forward pass goes, with p from the saved statistics.
void emitQueryGradient(const Kernel &kernel);
/// Computes dk and dv: a block has some keys and walks over the queries of all heads that share them.
void emitKeyGradient(const Kernel &kernel);

} // namespace mpc::attention
#endif
