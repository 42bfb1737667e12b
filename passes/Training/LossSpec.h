//===- LossSpec.h - what a user can write about a loss -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loss is written as FORM:PREDICTION:TARGET[,OPTION=VALUE]..., or output:NAME. The forms
// and their options are one table, which the parser, the help and the hints of errors read.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_TRAINING_LOSSSPEC_H
#define MPC_PASSES_TRAINING_LOSSSPEC_H
#include "dialects/Graph/IR/Graph.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace mpc::graph {
class GraphBuilder;
}

namespace mpc::training {

struct LossSpec;

/// The activation that a loss applies to its prediction itself. Where the network ends in such an activation
/// (ProbabilityOpInterface), the loss takes its operand.
enum class OwnActivation {
  None,
  OverClasses, ///< a softmax
  PerElement   ///< a sigmoid
};

/// What a loss compares its prediction with.
enum class LossTarget {
  LikePrediction, ///< a tensor like the prediction
  Labels,         ///< integer labels [N, d...] of scores, which have one more dimension, that of the classes
  Sequences       ///< sequences of classes with their lengths: three names (CtcInputs.h)
};

/// Each row of the table is one form.
struct LossForm {
  llvm::StringLiteral name, prediction, target;
  LossTarget kind;
  OwnActivation activation;
  llvm::ArrayRef<llvm::StringLiteral> options;
  /// Builds the scalar loss of an fp32 prediction. Scores are [N, C, d...]. Null for sequences.
  mlir::Value (*build)(const graph::GraphBuilder &, mlir::Value prediction, mlir::Value target, const LossSpec &spec);
};

/// The defaults are those of torch.nn.CrossEntropyLoss.
struct LossSpec {
  const LossForm *form = nullptr;
  std::string names;           ///< PREDICTION:TARGET
  std::optional<int64_t> axis; ///< the dimension of the classes; may count from the end
  int64_t ignoreIndex = -100;  ///< the label whose samples are ignored
  double labelSmoothing = 0;
  llvm::SmallVector<double> weight;    ///< one number for each class; empty means 1 each
  llvm::SmallVector<double> posWeight; ///< of targets that are 1: one number, or one for each of the last dimension
  bool probabilities = false;          ///< whether a label is a probability for each class instead of a number
  int64_t blank = 0;                   ///< the class that stands for no label, of sequences
  bool zeroInfinity = false;           ///< whether a sequence that its frames cannot hold costs 0 instead of infinity
  std::optional<bool> batchFirst;      ///< whether scores of sequences are [N, T, C] instead of [T, N, C]
  std::optional<int64_t> maxTarget;    ///< the extent of the targets' second dimension
  graph::LossReduction reduction = graph::LossReduction::mean;
  std::string assumed; ///< what is said about a loss that nobody wrote; empty if the user wrote it
};

/// Returns all rows (LossForms.cpp).
llvm::ArrayRef<LossForm> lossForms();

/// Parses all forms but `output:NAME`. Fails with a diagnostic at `loc`.
mlir::FailureOr<LossSpec> parseLossSpec(mlir::Location loc, llvm::StringRef text);

/// Returns `softmax_cross_entropy:LOGITS:LABELS[,axis=N]..., nll:..., ... or output:NAME`, for help.
std::string describeLosses();
/// Returns the same without the options, for hints.
std::string nameLosses();

} // namespace mpc::training
#endif
