//===- InferLoss.h - the loss of a network when the user names none -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING_INFERLOSS_H
#define MPC_PASSES_TRAINING_INFERLOSS_H
#include "passes/Training/LossTargets.h"

namespace mpc::training {

/// A loss that was inferred because the user wrote none.
struct InferredLoss {
  Prediction prediction;
  std::string labels; ///< the name of the data input
  LossSpec spec;
};

/// Infers softmax cross entropy for a network whose only float output may be scores of classes: it has rank 2 or 3 and
/// at least two classes, and is not made by Sigmoid, Tanh, Relu or Clip. Behind a Softmax or LogSoftmax its input is
/// taken. Anything else is an error that says why, and lists what --loss can be.
mlir::FailureOr<InferredLoss> inferLoss(EntryBuilder &entry);

/// Returns the ONNX name of an activation, such as LogSoftmax of graph.log_softmax.
std::string onnxName(mlir::Operation *activation);

/// Emits the error that no loss can be inferred, and why, as inferLoss does.
mlir::LogicalResult lossIsNotInferred(mlir::Location loc, llvm::ArrayRef<std::string> outputs, const llvm::Twine &why);

} // namespace mpc::training
#endif
