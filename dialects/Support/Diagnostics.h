//===- Diagnostics.h - errors with a hint -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A user's mistake is reported as a located error, followed by one `hint:` note with the next action.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_SUPPORT_DIAGNOSTICS_H
#define MPC_SUPPORT_DIAGNOSTICS_H
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace mpc {

/// Emits `message` at `loc` with a note "hint: ..." and returns failure.
mlir::LogicalResult emitErrorWithHint(mlir::Location loc, const llvm::Twine &message, const llvm::Twine &hint);
/// Does the same with the error that `emitError` begins, as the verifier of an attribute is given it.
mlir::LogicalResult emitErrorWithHint(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                                      const llvm::Twine &message, const llvm::Twine &hint);

/// Returns the name of the ONNX node that a location stands for, or "" when it has none.
std::string nodeName(mlir::Location loc);

/// Returns the name of a location for the user: the ONNX node's name when there is one, else
/// file:line:col, else "unknown".
std::string locationName(mlir::Location loc);

} // namespace mpc
#endif
