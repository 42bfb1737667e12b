//===- ForwardPass.h - what a step's backward pass needs of its forward pass ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_MEMORY_FORWARDPASS_H
#define MPC_PASSES_MEMORY_FORWARDPASS_H
#include "dialects/Train/IR/Train.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpc::memory {

/// Returns the operations of a product or convolution, two for each multiply-add; 0 for other ops.
double flopsOf(mlir::Operation *op);

/// The forward pass of a step: the ops that its loss depends on. Values stand for their memory (graph::storageOf).
///
/// A value is needed where an op behind the loss reads it: it has to be saved, or computed again from saved values.
/// Arguments, variables, constants and tensors of few bytes are always there.
class ForwardPass {
public:
  explicit ForwardPass(train::StepOp step);

  /// Part of the forward pass. Where the products of a segment are computed again, its first op reads only what is
  /// saved.
  struct Segment {
    unsigned begin, end;          ///< places of ops
    int64_t bytes = 0;            ///< saved by the ops of this segment, if only cheap ops are computed again
    double flops = 0;             ///< of its products, two for each multiply-add
    bool repeatsProducts = false; ///< whether its products may be computed again
  };

  llvm::ArrayRef<mlir::Operation *> ops() const { return forward; }
  bool contains(mlir::Operation *op) const { return places.contains(op); }
  /// Returns whether the op stands behind the loss and does not belong to the forward pass.
  bool isLater(mlir::Operation *op) const;
  bool isAlwaysThere(mlir::Value storage) const;
  bool isNeeded(mlir::Value storage) const { return needed.contains(storage); }

  /// Divides the forward pass at products such that, were each segment computed again from what enters it, the bytes of
  /// all that enters segments and of the largest segment would be few together.
  llvm::SmallVector<Segment> segments() const;

  /// Returns the values to save, the fewest bytes from which all needed ones can be computed: elementwise, by movements
  /// and windows; in segments that repeat products, also by products and random numbers. Sums and scans are never
  /// computed again, and nothing is computed from another segment's values but from those that enter the segment.
  llvm::DenseSet<mlir::Value> valuesToSave(llvm::ArrayRef<Segment> segments) const;

private:
  /// Calls `fn` for each value that is computed by an op and read by a later one of the forward pass, with the place of
  /// the op and of its last reader.
  void forEachValue(llvm::function_ref<void(mlir::Value, unsigned place, unsigned lastReader)> fn) const;
  /// Returns for each place the bytes that are computed before it and read from it on.
  llvm::SmallVector<int64_t> crossingBytes() const;

  mlir::Operation *loss = nullptr;
  llvm::SmallVector<mlir::Operation *> forward; ///< in program order
  llvm::DenseMap<mlir::Operation *, unsigned> places;
  llvm::DenseMap<mlir::Value, unsigned> lastReads; ///< the place of the last forward op that reads a storage
  llvm::DenseSet<mlir::Value> needed;
};

} // namespace mpc::memory
#endif
