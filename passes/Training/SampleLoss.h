//===- SampleLoss.h - a mean loss as a sum over samples --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING_SAMPLELOSS_H
#define MPC_PASSES_TRAINING_SAMPLELOSS_H
#include "dialects/Graph/IR/GraphBuilder.h"
#include "passes/Training/Entries.h"

namespace mpc::training {

/// These are the scores [N, C, d...] and labels [N, d...] of the only classification loss in `loss`; they are
/// null when there is none. N is the batch, or counts the labels of all samples where they were flattened.
struct Classification {
  mlir::Value logits, labels;
  int64_t classes = 0;
  /// The label that causes no loss; it may lie outside [0, classes).
  std::optional<int64_t> ignored;
};
Classification findClassification(mlir::Value loss);

/// These are two [N] f32 tensors with loss = sum(losses)/sum(weights), where sample i alone decides element i.
struct SampleLoss {
  mlir::Value losses, weights;
};
/// Splits a loss that is a mean or a sum over samples; the result is nullopt when the loss is not recognised as one.
/// The ops are built at the entry's end.
std::optional<SampleLoss> splitLoss(EntryBuilder &entry, mlir::Value loss);

} // namespace mpc::training
#endif
