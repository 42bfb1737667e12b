//===- AttentionBlock.h - a block of an attention kernel -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_ATTENTIONTOGPU_ATTENTIONBLOCK_H
#define MPC_LOWERING_ATTENTIONTOGPU_ATTENTIONBLOCK_H
#include "passes/Lowering/AttentionToGpu/AttentionKernels.h"

namespace mpc::attention {

/// The block's own rows of a tensor, in shared memory: a product's first factor.
struct OwnRows {
  HeadTile tile;
  Value at;
  std::vector<Values> fragments = {}; ///< the warp's rows, for each step of 16 elements, where registers hold them
};
/// A B^T, where A are the block's own rows, and the columns of B^T are rows of the tile at `at`.
struct RowProduct {
  const OwnRows &a;
  const HeadTile &b;
  Value at;
};
/// Adds A B to `sums`, in blocks of 8 columns, where A are the block's numbers in f32, and the rows of B those of the
/// tile at `at`.
struct ElementProduct {
  Values &sums;
  llvm::ArrayRef<Value> a;
  const HeadTile &b;
  Value at;
};

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
    if (kernel.tiles.byWarpgroup)
      kernel::AsyncFenceOp::create(c.b);
    c.barrier();
  }
  /// Calls `body(tile, stage, carried)` for the tiles from `first` up to `last`. `start(tile, stage)` starts the copies
  /// of one; the next tile's are under way while a tile is computed. Stages are 0 and 1.
  Values walk(Value first, Value last, mlir::ValueRange init, llvm::function_ref<void(Value, Value)> start,
              llvm::function_ref<Values(Value, Value, mlir::ValueRange)> body);
  /// Takes the rows into registers.
  void load(OwnRows &rows);
  /// Returns products of `columns` columns, in blocks of 8.
  std::vector<Values> timesRows(llvm::ArrayRef<RowProduct> products, int64_t columns);
  /// Computes products whose k goes through `depth` rows of the tiles.
  void timesElements(llvm::ArrayRef<ElementProduct> products, int64_t depth);
  /// Stores 16 rows of a result, times a factor for each of the thread's two rows; null for none.
  void store(const HeadLayout &to, Value sample, Value head, llvm::ArrayRef<Value> sums, Value factors[2]);
  Values zeros(int64_t count) { return Values(size_t(count), f.zero()); }
  /// Returns the address of the element of [B, H, M, 1] for a query of this block's head.
  Value statistic(const HeadLayout &of, Value query);

private:
  Values warpTimesRows(const RowProduct &product, int64_t columns);
  void warpTimesElements(const ElementProduct &product, int64_t depth);
  /// Starts D = A B + C by the warpgroup for 16 k. A is in registers, or in `own` where these are none, and C may be
  /// absent. With `transposed` the rows of the tile are k.
  Values startProduct(const OwnRows *own, const Values &registers, const HeadTile &b, Value at, bool transposed,
                      int step, int64_t columns, mlir::ValueRange sums);
  /// Waits for all products of the warpgroup.
  void await(llvm::MutableArrayRef<Values *> sums);
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
