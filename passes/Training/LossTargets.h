//===- LossTargets.h - what a loss compares a prediction with --------------------===//
//
// The target is a data input of the entry: one that the network has, or a new one. For labels this decides where
// the classes lie.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_TRAINING_LOSSTARGETS_H
#define MPC_PASSES_TRAINING_LOSSTARGETS_H
#include "passes/Training/Entries.h"
#include "passes/Training/LossSpec.h"

namespace mpc::training {

/// A network's output as the loss takes it.
struct Prediction {
  std::string name; ///< the user's
  mlir::Value value; ///< fp32
};

/// Scores [N, C, d...] and integer labels [N, d...].
struct Labelled {
  mlir::Value scores, labels;
};

/// The labels of a prediction [N, ...] whose classes lie along one of its dimensions: the data input `name`, whose
/// shape is the prediction's without that dimension. The spec says which one, or the shape of an input of the
/// network, or the rank: 2 and pictures (4 and more) have it behind the batch, sequences (3) at the end. What is not
/// said is noted as an assumption. Scores and labels come back with the classes at dimension 1.
mlir::FailureOr<Labelled> labelsFor(EntryBuilder &entry, llvm::StringRef name, const Prediction &prediction,
                                    const LossSpec &spec);

/// The target of a prediction: the data input `name` of its shape, as fp32.
mlir::FailureOr<mlir::Value> targetFor(EntryBuilder &entry, llvm::StringRef name, const Prediction &prediction);

} // namespace mpc::training
#endif
