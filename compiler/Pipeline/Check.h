//===- Check.h - everything that stands against training a model, at once -----------------===//
#ifndef MPC_PIPELINE_CHECK_H
#define MPC_PIPELINE_CHECK_H
#include "compiler/Import/Onnx/Importer.h"
#include "compiler/Pipeline/Pipeline.h"

namespace mpc {

/// A report on training: the importer's, whose problems and assumptions those of training follow.
struct TrainingReport : ImportReport {
  std::vector<std::string> data; ///< what arrays the data need; empty where there are problems
};

/// The importer's report, and behind its problems those of training: the loss, the casts, the gradients. They are found although the import
/// has problems of its own, as far as the types of what is not supported are known. Emits no diagnostics; warnings become notes.
TrainingReport checkTraining(mlir::MLIRContext &, llvm::StringRef path, const ImportOptions &, const TrainingOptions &);
/// The same for a model in memory, as importOnnxBytes takes it.
TrainingReport checkTrainingBytes(mlir::MLIRContext &, llvm::StringRef bytes, llvm::StringRef name, llvm::StringRef folder, const ImportOptions &,
                                  const TrainingOptions &);

/// Imports a model for training. Null on error; then every problem of the import and of the loss has been emitted, not only the first.
mlir::OwningOpRef<mlir::ModuleOp> importForTraining(mlir::MLIRContext &, llvm::StringRef path, const ImportOptions &, const TrainingOptions &,
                                                    ImportReport &);

/// Of a module that buildTraining made: what was assumed about the loss, as options.
std::vector<std::string> assumedLosses(mlir::ModuleOp module);
/// The arrays that training reads: "x float32 [samples,3,32,32]".
std::vector<std::string> dataArrays(mlir::ModuleOp module);

} // namespace mpc
#endif
