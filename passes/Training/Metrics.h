//===- Metrics.h - what evaluation measures beside the loss ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_TRAINING_METRICS_H
#define MPC_PASSES_TRAINING_METRICS_H
#include "passes/Training/Entries.h"

namespace mpc::training {

/// Adds the results that metrics need to the eval entry, and returns the metrics' descriptions (train::kMetricsAttr),
/// each with `axis`, the dimension of the logits that holds the classes, and `ignore`, a class whose labels are not
/// counted. `texts` are `accuracy:LOGITS:LABELS`, where labels are integers; without any the loss decides: a
/// classification gets its accuracy. Fails with a diagnostic.
mlir::FailureOr<mlir::ArrayAttr> addMetrics(EntryBuilder &entry, llvm::ArrayRef<std::string> texts, mlir::Value loss);

} // namespace mpc::training
#endif
