//===- Metrics.h - what evaluation measures beside the loss ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING_METRICS_H
#define MPC_PASSES_TRAINING_METRICS_H
#include "passes/Training/Entries.h"

namespace mpc::training {

/// Adds the results that metrics need to the eval entry, and returns the metrics' descriptions (train::kMetricsAttr),
/// each with `axis`, the dimension of the logits that holds the classes or the labels, and `ignore`, a class whose
/// labels are not counted. `texts` are what describeMetrics says; a kind without names takes what the loss compares,
/// which `lossText` names (LossForms.h). Without any text the loss decides: a classification gets its accuracy, a ctc
/// loss the error rate of its sequences. Fails with a diagnostic.
mlir::FailureOr<mlir::ArrayAttr> addMetrics(EntryBuilder &entry, llvm::ArrayRef<std::string> texts,
                                            llvm::StringRef lossText, mlir::Value loss);

/// Returns "KIND or KIND:OUTPUT:TARGET, KIND = accuracy, ...", for help.
std::string describeMetrics();

} // namespace mpc::training
#endif
