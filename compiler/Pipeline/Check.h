//===- Check.h - lists everything that prevents training a model ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PIPELINE_CHECK_H
#define MPC_PIPELINE_CHECK_H
#include "compiler/Import/Onnx/Importer.h"
#include "compiler/Pipeline/Pipeline.h"

namespace mpc {

/// A report on training: the importer's report, to which problems and assumptions of training are appended.
struct TrainingReport : ImportReport {
  /// These lines say which parameters are in which parameter group; they are empty where there are problems.
  std::vector<std::string> groups;
  std::vector<std::string> data; ///< descriptions of the arrays that the data need; empty where there are problems
};

/// The importer's report, followed by the problems of training: the loss, the casts, the gradients. They are
/// found even where the import has problems of its own, as far as the types of unsupported values are known.
/// Emits no diagnostics; warnings become notes.
TrainingReport checkTraining(mlir::MLIRContext &, llvm::StringRef path, const ImportOptions &, const TrainingOptions &);
/// Does the same for a model in memory, as importOnnxBytes takes it.
TrainingReport checkTrainingBytes(mlir::MLIRContext &, llvm::StringRef bytes, llvm::StringRef name,
                                  llvm::StringRef folder, const ImportOptions &, const TrainingOptions &);

/// Imports a model for training. Returns null on error; then every problem of the import and of the loss has
/// been emitted, not only the first.
mlir::OwningOpRef<mlir::ModuleOp> importForTraining(mlir::MLIRContext &, llvm::StringRef path, const ImportOptions &,
                                                    const TrainingOptions &, ImportReport &);

/// The assumptions about the loss in a module that buildTraining made, written as options.
std::vector<std::string> assumedLosses(mlir::ModuleOp module);
/// Which parameters are in which parameter group, such as "'bias$' (lr x 2): conv1.bias, fc.bias"; the last line is
/// that of those in no group.
std::vector<std::string> parameterGroups(mlir::ModuleOp module);
/// The arrays that training reads, such as "x float32 [samples,3,32,32]".
std::vector<std::string> dataArrays(mlir::ModuleOp module);

} // namespace mpc
#endif
