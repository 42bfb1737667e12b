//===- SampleLoss.h - a mean loss as a sum over samples --------------------------===//
#ifndef MPC_PASSES_TRAINING_SAMPLELOSS_H
#define MPC_PASSES_TRAINING_SAMPLELOSS_H
#include "passes/Training/Entries.h"

namespace mpc::training {

/// Scores [N, C, d...] and labels [N, d...] of the only classification loss in `loss`; null when there is none. N is the
/// batch, or counts the labels of all samples where they were flattened.
struct Classification {
  mlir::Value logits, labels;
  int64_t classes = 0;
  /// The label without a loss; it may lie outside [0, classes).
  std::optional<int64_t> ignored;
};
Classification findClassification(mlir::Value loss);

/// The f32 weight of each label, in the shape of the labels: weights[label], or 1 without weights; 0 where it is the
/// ignored one.
mlir::Value labelWeights(mlir::OpBuilder &b, mlir::Location loc, mlir::Value labels, mlir::Value weights,
                         std::optional<int64_t> ignored);

/// Two [N] f32 tensors with loss = sum(losses)/sum(weights), where sample i alone decides element i.
struct SampleLoss {
  mlir::Value losses, weights;
};
/// Splits a loss that is a mean or a sum over samples; nothing when it is not recognised as one. Built at the
/// entry's end.
std::optional<SampleLoss> splitLoss(EntryBuilder &entry, mlir::Value loss);

} // namespace mpc::training
#endif
