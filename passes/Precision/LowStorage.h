//===- LowStorage.h - parameters stored in low precision (O3) ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PASSES_PRECISION_LOWSTORAGE_H
#define MPC_PASSES_PRECISION_LOWSTORAGE_H
#include "dialects/Train/IR/Train.h"
#include "mlir/IR/BuiltinOps.h"

namespace mpc::precision {

/// Turns fp32 parameters, their initial values and their reads to the low type; the caller
/// has to adapt the users of the reads. Skips the parameters for which `keeps` holds.
void storeLow(mlir::ModuleOp module, mlir::FloatType low, llvm::function_ref<bool(train::VariableOp)> keeps);

} // namespace mpc::precision
#endif
