//===- Pattern.h - regular expressions that users write ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All options that take a pattern (--params, --param-group, --allow ...) follow one rule:
// patterns are POSIX extended and match anywhere in a name; ^ and $ tie them to its ends.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_SUPPORT_PATTERN_H
#define MPC_SUPPORT_PATTERN_H
#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/Regex.h"

namespace mpc {

/// Compiles `text`, and reports an error at `loc` when it is malformed.
mlir::FailureOr<llvm::Regex> compilePattern(mlir::Location loc, llvm::StringRef text);
/// Does the same with the error that `emitError` begins.
mlir::FailureOr<llvm::Regex> compilePattern(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
                                            llvm::StringRef text);

} // namespace mpc
#endif
