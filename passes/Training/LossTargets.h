//===- LossTargets.h - what a loss compares a prediction with --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The target is a data input of the entry: one that the network has, or a new one. For labels this file also decides
// where the classes lie.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_TRAINING_LOSSTARGETS_H
#define MPC_PASSES_TRAINING_LOSSTARGETS_H
#include "passes/Training/Entries.h"
#include "passes/Training/LossSpec.h"

namespace mpc::training {

/// Writes a shape as "[8,16]".
std::string shapeText(llvm::ArrayRef<int64_t> shape);

/// This is a network's output as the loss takes it.
struct Prediction {
  std::string name;  ///< the name that the user knows
  mlir::Value value; ///< fp32
};

/// Scores are [N, C, d...] and integer labels are [N, d...]. Labels that are probabilities have the scores' shape, and
/// the classes of both lie at `axis`.
struct Labelled {
  mlir::Value scores, labels;
  int64_t axis = 1;
};

/// Returns the dimension of the classes of scores: the one that the spec says, which may count from the end, or behind
/// the batch, except for rank 3, whose classes lie at the end.
int64_t classAxis(const LossSpec &spec, int64_t rank);
/// Returns whether the classes of a prediction of this shape are this dimension, as the finder of labels decides it:
/// by axis=, by the labels where the network has an input of that name, or by the rank.
bool areClasses(EntryBuilder &entry, const LossSpec &spec, llvm::StringRef target, llvm::ArrayRef<int64_t> shape,
                int64_t axis);

/// Returns the scores and labels of a prediction [N, ...] whose classes lie along one of its dimensions. The labels are
/// the data input `name`, whose shape is the prediction's without that dimension. The spec says which dimension it is,
/// or else the shape of an input of the network, or else the rank: rank 2 and pictures (4 and more) have it behind the
/// batch, sequences (3) at the end. A choice that the user did not make is noted as an assumption. Scores and labels
/// come back with the classes at dimension 1; labels that are probabilities, and their scores, come back as they are.
mlir::FailureOr<Labelled> labelsFor(EntryBuilder &entry, llvm::StringRef name, const Prediction &prediction,
                                    const LossSpec &spec);

/// Returns the target of a prediction: the data input `name`, which has the prediction's shape, as fp32.
mlir::FailureOr<mlir::Value> targetFor(EntryBuilder &entry, llvm::StringRef name, const Prediction &prediction);

} // namespace mpc::training
#endif
