//===- EvalForm.h - training form to evaluation form ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING_EVALFORM_H
#define MPC_PASSES_TRAINING_EVALFORM_H
#include "dialects/Graph/IR/Graph.h"
#include "passes/Training/Entries.h"

namespace mpc::training {

struct EvalFormCounts {
  unsigned norms = 0, dropouts = 0;
  llvm::SmallVector<graph::BatchNormOp, 0> withoutStatistics; ///< the norms that stay as they are
};

/// Turns a copy of the forward into evaluation form: batch normalisations take their running statistics, dropouts,
/// also those in attentions, become the identity, and nothing is assigned. Where a variable's new value stands behind a
/// barrier (as the import writes a buffer that the network updates), the variable's stored value takes its place.
EvalFormCounts toEvalForm(EntryBuilder &entry);

/// Returns the batch normalisations whose statistics an assigned value is made of.
llvm::SmallVector<graph::BatchNormOp> normsBehind(mlir::Value assigned);

} // namespace mpc::training
#endif
