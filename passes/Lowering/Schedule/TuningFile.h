//===- TuningFile.h - measurements of schedules as a file ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_SCHEDULE_TUNINGFILE_H
#define MPC_LOWERING_SCHEDULE_TUNINGFILE_H
#include "passes/Lowering/Schedule/Tuning.h"

namespace mpc::hero {

/// Reads a file that a tuner wrote (runtime/abi/README.md, "Tuning files"). Fails with a diagnostic that
/// names the place in the file. The graph dialect must be loaded.
mlir::FailureOr<Tuning> readTuningFile(mlir::MLIRContext *context, llvm::StringRef path);

} // namespace mpc::hero
#endif
