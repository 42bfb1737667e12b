//===- InferLoss.h - the loss of a network when the user names none -----------------===//
#ifndef MPC_PASSES_TRAINING_INFERLOSS_H
#define MPC_PASSES_TRAINING_INFERLOSS_H
#include "passes/Training/LossTargets.h"

namespace mpc::training {

/// A loss that nobody wrote.
struct InferredLoss {
  Prediction prediction;
  std::string labels; ///< the name of the data input
  LossSpec spec;
};

/// Softmax cross entropy, for a network whose only float output may be scores of classes: of rank 2 or 3, with at
/// least two classes, and not made by Sigmoid, Tanh or Relu. Behind a Softmax or LogSoftmax its input is taken.
/// Anything else is an error that says why, and lists what --loss can be.
mlir::FailureOr<InferredLoss> inferLoss(EntryBuilder &entry);

/// Why it is none, as inferLoss says it.
mlir::LogicalResult lossIsNotInferred(mlir::Location loc, llvm::ArrayRef<std::string> outputs, const llvm::Twine &why);

} // namespace mpc::training
#endif
