//===- PerSample.h - which dimension of a value counts the samples ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING_PERSAMPLE_H
#define MPC_PASSES_TRAINING_PERSAMPLE_H
#include "mlir/IR/Block.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace mpc::training {

/// Follows the samples of a batch through a block. An op that it does not know, or that lets one sample decide
/// what another one gets, ends the search: a claim that `leads` makes is certain, but it may also be true
/// where it is not made.
class PerSample {
public:
  /// `batched(argument)` says that the argument's leading dimension counts `samples` samples; the other arguments are
  /// the same for every batch.
  /// `below(argument)` returns n where an argument's values are checked to lie in [0, n).
  PerSample(mlir::Block &block, int64_t samples, llvm::function_ref<bool(mlir::BlockArgument)> batched,
            llvm::function_ref<std::optional<int64_t>(mlir::Value)> below);

  /// Element i along `dim` belongs to sample i / inner % samples.
  struct Position {
    int64_t dim, inner;
    bool operator==(const Position &) const = default;
  };
  /// Returns where v has its samples; nullopt where samples mix in it, or it depends on none.
  std::optional<Position> position(mlir::Value v) const;
  /// Returns whether v is [samples*k, ...] and sample i alone, of all samples, decides v[i*k] to v[i*k + k - 1].
  bool leads(mlir::Value v) const;
  /// Returns the dimension of v whose index i sample i alone, of all samples, decides; nullopt where none is certain.
  std::optional<int64_t> dim(mlir::Value v) const;
  /// Returns whether v does not depend on any sample.
  bool fixed(mlir::Value v) const;

private:
  /// These are all positions that are right. There is one, except in a batch of one sample, where every reading of a
  /// reshape is right.
  using Positions = llvm::SmallVector<Position, 2>;

  Positions throughReshape(Position at, llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to) const;
  /// Returns where a gather, y[a..., i..., b...] = x[a..., indices[i...], b...], or its opposite, a scatter, has its
  /// samples if the indices keep each to its own elements.
  std::optional<Position> throughOwnIndices(mlir::Operation &op,
                                            llvm::function_ref<std::optional<int64_t>(mlir::Value)> below) const;
  /// Returns where a result has the samples that this operand has at `at`.
  Positions through(mlir::OpOperand &operand, mlir::OpResult result, Position at) const;

  int64_t samples;
  llvm::DenseMap<mlir::Value, Positions> positions; // of every value that depends on samples
};

} // namespace mpc::training
#endif
