//===- Check.h - everything that stands against training a model, at once -----------------===//
#ifndef MPC_PIPELINE_CHECK_H
#define MPC_PIPELINE_CHECK_H
#include "compiler/Import/Onnx/Importer.h"
#include "compiler/Pipeline/Pipeline.h"

namespace mpc {

/// The importer's report, and behind its problems those of training: the loss, the casts, the gradients. They are found although the import
/// has problems of its own, as far as the types of what is not supported are known. Emits no diagnostics; warnings become notes.
ImportReport checkTraining(mlir::MLIRContext &, llvm::StringRef path, const ImportOptions &, const TrainingOptions &);
/// The same from memory; `folder` holds external data ("": there is none).
ImportReport checkTrainingBytes(mlir::MLIRContext &, llvm::StringRef bytes, llvm::StringRef name, llvm::StringRef folder, const ImportOptions &,
                                const TrainingOptions &);

} // namespace mpc
#endif
