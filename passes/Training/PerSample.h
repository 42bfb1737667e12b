//===- PerSample.h - which dimension of a value counts the samples ----------------===//
#ifndef MPC_PASSES_TRAINING_PERSAMPLE_H
#define MPC_PASSES_TRAINING_PERSAMPLE_H
#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

namespace mpc::training {

/// Follows the samples of a batch through a block. An op that it does not know, or that lets one sample
/// decide what another one gets, ends the way: what is claimed is certain, what is not claimed may hold.
class PerSample {
public:
  /// `batched(argument)`: its leading dimension counts `samples` samples; the other arguments are the same
  /// for every batch.
  PerSample(mlir::Block &block, int64_t samples, llvm::function_ref<bool(mlir::BlockArgument)> batched);

  /// Whether v is [samples*k, ...] and sample i alone, of all samples, decides v[i*k] to v[i*k + k - 1].
  bool leads(mlir::Value v) const;
  /// Whether no sample decides anything of v.
  bool fixed(mlir::Value v) const;

private:
  /// Element i along `dim` belongs to sample i / inner % samples.
  struct Position {
    int64_t dim, inner;
    bool operator==(const Position &) const = default;
  };
  /// All that are right: one, but for a batch of one sample, where every reading of a reshape is.
  using Positions = llvm::SmallVector<Position, 2>;

  Positions throughReshape(Position at, llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to) const;
  /// Where a result has the samples that this operand has at `at`.
  Positions through(mlir::OpOperand &operand, mlir::OpResult result, Position at) const;

  int64_t samples;
  llvm::DenseMap<mlir::Value, Positions> positions; // of all that depends on samples
};

} // namespace mpc::training
#endif
