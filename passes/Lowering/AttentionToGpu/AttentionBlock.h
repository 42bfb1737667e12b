//===- AttentionBlock.h - a block of an attention kernel -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_ATTENTIONTOGPU_ATTENTIONBLOCK_H
#define MPC_LOWERING_ATTENTIONTOGPU_ATTENTIONBLOCK_H
#include "passes/Lowering/AttentionToGpu/AttentionKernels.h"

namespace mpc::attention {

/// A block knows its head and rows, and has the memory that tiles come into.
class AttentionBlock {
public:
  /// `rows` and `heads` are those of the side that blocks divide. The last rows come first: with causal attention they
  /// take longest.
  AttentionBlock(const Kernel &kernel, int64_t rows, int64_t heads);

  const Kernel &kernel;
  Code c;
  Value thread;
  Fragments f;
  Value sample, head, firstRow; ///< i32
  Value memory;

  /// Returns the i-th of the thread's two rows (i32).
  Value row(int i);
  Value warpRow() { return c.mul(f.warp, 16); }
  void commit() { kernel::CopyAsyncCommitOp::create(c.b); }
  /// Waits for all copies of the block.
  void arrive() {
    kernel::CopyAsyncWaitOp::create(c.b, 0u);
    c.barrier();
  }
  /// Calls `body(tile, stage, carried)` for the tiles from `first` up to `last`. `start(tile, stage)` starts the copies
  /// of one; the next tile's are under way while a tile is computed. Stages are 0 and 1.
  Values walk(Value first, Value last, mlir::ValueRange init, llvm::function_ref<void(Value, Value)> start,
              llvm::function_ref<Values(Value, Value, mlir::ValueRange)> body);
  /// Returns the fragments of A of the warp's rows in `tile`.
  Values warpRows(const HeadTile &tile, Value at, int step) { return tile.rowsOfA(at, warpRow(), step); }
  /// Adds A B^T to the sums for blocks of 8 columns: the columns of B^T are `columns` rows of the tile; `a` gives the
  /// fragments of A for a step along the elements.
  void timesRows(Values &sums, const HeadTile &tile, Value at, int64_t columns, llvm::function_ref<Values(int)> a);
  /// Adds A B to the sums, where k goes through `depth` rows of the tile and the columns are its elements; `a` gives
  /// the fragments of A for a step of 16 rows.
  void timesElements(Values &sums, const HeadTile &tile, Value at, int64_t depth, llvm::function_ref<Values(int)> a);
  /// Stores 16 rows of a result, times a factor for each of the thread's two rows; null for none.
  void store(const HeadLayout &to, Value sample, Value head, llvm::ArrayRef<Value> sums, Value factors[2]);
  Values zeros(int64_t count) { return Values(size_t(count), f.zero()); }
  /// Returns the address of the element of [B, H, M, 1] for a query of this block's head.
  Value statistic(const HeadLayout &of, Value query);
};

/// The kernels that walk over keys have tiles of these and of their values, in two stages.
class KeysAndValues {
public:
  /// `memory` is where the stages start in shared memory.
  KeysAndValues(AttentionBlock &block, Value memory);
  void start(Value tile, Value stage);
  Value keysAt(Value stage);
  Value valuesAt(Value stage) { return block.c.at(keysAt(stage), keys.bytes()); }

  AttentionBlock &block;
  HeadTile keys, values;

private:
  Value k, v, memory; ///< the head's first rows, and where the stages start
};

/// Returns how many registers of a thread hold its part of 16 rows of `columns` sums.
constexpr int64_t sumsOf(int64_t columns) { return llvm::alignTo(columns, 16) / 8 * 4; }

} // namespace mpc::attention
#endif
