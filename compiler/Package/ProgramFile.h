//===- ProgramFile.h - writes executables ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PACKAGE_PROGRAMFILE_H
#define MPC_PACKAGE_PROGRAMFILE_H
#include "mlir/IR/Location.h"
#include <map>
#include <string>

namespace mpc {

/// Writes `runner` (the ELF of mpc-runner), with the sections behind it, to `path` as an executable; see
/// runtime/abi/README.md. The file appears whole or not at all. Fails with a diagnostic.
mlir::LogicalResult writeProgram(mlir::Location loc, llvm::StringRef path, llvm::StringRef runner,
                                 const std::map<std::string, std::string> &sections);

/// Writes bytes to a file that appears whole or not at all; `mode` is that of chmod.
mlir::LogicalResult writeFileAtomically(mlir::Location loc, llvm::StringRef path, llvm::StringRef bytes,
                                        unsigned mode = 0644);

} // namespace mpc
#endif
