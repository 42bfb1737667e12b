//===- LossForms.h - the losses that a user can ask for ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING_LOSSFORMS_H
#define MPC_PASSES_TRAINING_LOSSFORMS_H
#include "passes/Training/Entries.h"

namespace mpc::training {

/// Builds the scalar fp32 loss that `spec` describes at the end of the entry, and adds inputs where needed. `spec` is
/// `FORM:PREDICTION:TARGET[,OPTION=VALUE]...`, `output:NAME`, or "" for the only scalar float output, or without one an
/// inferred loss. Fails with a diagnostic, also for "" where several outputs are scalar floats. Without
/// `differentiated` the loss may lack a gradient.
mlir::FailureOr<mlir::Value> attachLoss(EntryBuilder &entry, llvm::StringRef spec, bool differentiated);

/// Adds what a predict entry can return beside the network's outputs because of the loss: the decoded sequences of CTC.
/// `spec` is one that attachLoss takes.
void addLossOutputs(EntryBuilder &entry, llvm::StringRef spec,
                    llvm::SmallVectorImpl<std::pair<std::string, mlir::Value>> &outputs);

/// This is what an evaluation compares with the targets of a loss of sequences.
struct LossSequences {
  mlir::Value frames;         ///< [N, T] i64: ctcFrames (CtcLoss.h)
  std::string output, target; ///< the network's output with the scores, and the input with the targets
};
/// Builds it in an entry to which attachLoss has attached the same `spec`; nullopt for the losses that compare no
/// sequences.
std::optional<LossSequences> lossSequences(EntryBuilder &entry, llvm::StringRef spec);

/// This is what an evaluation compares where the labels of a loss are probabilities of classes.
struct LossProbabilities {
  mlir::Value scores; ///< the network's, before an activation that the loss has itself
  std::string target; ///< the input with the probabilities
  int64_t axis;       ///< the dimension of the classes, of both
};
/// Finds it in an entry to which attachLoss has attached the same `spec`; nullopt for the other losses.
std::optional<LossProbabilities> lossProbabilities(EntryBuilder &entry, llvm::StringRef spec);

/// Splits OUTPUT:TARGET. Names may hold colons themselves (`logits:0`), so the output is the shortest name that exists.
/// Where none exists, the text up to the first colon is taken for it. An empty target means that there is none.
std::pair<llvm::StringRef, llvm::StringRef> splitNames(llvm::StringRef names,
                                                       llvm::function_ref<bool(llvm::StringRef)> exists);
/// This is what a loss FORM:PREDICTION:TARGET[,axis=N] names.
struct LossNames {
  std::string output, target;       ///< both are empty for the other losses
  std::optional<int64_t> axis = {}; ///< the dimension of the classes, which may count from the end
};
LossNames lossNames(const EntryBuilder &entry, llvm::StringRef spec);

/// This is a network's output as far as its file states it.
struct StatedOutput {
  std::string name;
  bool isFloat = false;
  std::optional<llvm::SmallVector<int64_t>> shape; ///< -1 is a dimension that is not known
};
/// Reports what attachLoss would report about the outputs that `spec` names, or about a network for which no loss
/// can be inferred, where the network itself could not be imported. Succeeds where the error is not certain.
mlir::LogicalResult checkLossNames(mlir::Location loc, llvm::StringRef spec, llvm::ArrayRef<StatedOutput> outputs);

/// Returns the name of the network's output that is the loss itself, for `output:NAME` and "". Returns "" for the other
/// forms, and where "" does not decide it.
std::string lossOutput(EntryBuilder &entry, llvm::StringRef spec);

} // namespace mpc::training
#endif
