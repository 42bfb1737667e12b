//===- CtcInputs.h - what a CTC loss reads ---------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING_CTCINPUTS_H
#define MPC_PASSES_TRAINING_CTCINPUTS_H
#include "passes/Training/LossTargets.h"

namespace mpc::training {

/// Builds the scalar CTC loss of scores [T, N, C] or [N, T, C]: torch's CTCLoss of their log-softmax over C. `names` is
/// TARGETS:INPUT_LENGTHS:TARGET_LENGTHS, data inputs [N, S], [N] and [N] of integers, which the network has or which
/// are added; without INPUT_LENGTHS every sample has T frames. Which dimension counts the samples is noted as an
/// assumption unless the user has said it. Without `differentiated` the loss has no gradient.
mlir::FailureOr<mlir::Value> ctcLoss(EntryBuilder &entry, mlir::Location loc, const Prediction &prediction,
                                     llvm::StringRef names, const LossSpec &spec, bool differentiated);

/// Adds to the outputs of a predict entry what greedy decoding reads in the scores of a CTC loss: `decoded` [N, T] and
/// `decoded_length` [N]. Adds nothing where the arguments fit no such loss, which ctcLoss reports.
void addDecoded(EntryBuilder &entry, const Prediction &prediction, llvm::StringRef names, const LossSpec &spec,
                llvm::SmallVectorImpl<std::pair<std::string, mlir::Value>> &outputs);

/// Returns what evaluation compares with the targets of a CTC loss: the decoded label of each frame [N, T] (ctcFrames).
/// Keeps the inputs that hold the targets and their lengths. Fails where the arguments fit no such loss.
mlir::FailureOr<mlir::Value> ctcDecisions(EntryBuilder &entry, const Prediction &prediction, llvm::StringRef names,
                                          const LossSpec &spec);

} // namespace mpc::training
#endif
