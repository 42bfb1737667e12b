//===- Pattern.h - regular expressions that users write ----------------------===//
//
// One rule for all of them (--params, --param-group, --allow ...): POSIX extended, and they match anywhere in
// a name; ^ and $ tie them to its ends.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_SUPPORT_PATTERN_H
#define MPC_SUPPORT_PATTERN_H
#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/Support/Regex.h"

namespace mpc {

/// Compiles `text`; an error at `loc` when it is malformed.
mlir::FailureOr<llvm::Regex> compilePattern(mlir::Location loc, llvm::StringRef text);

} // namespace mpc
#endif
