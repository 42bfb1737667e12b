//===- LinkShared.h - object files to a shared object, in process ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_CODEGEN_LINKSHARED_H
#define MPC_CODEGEN_LINKSHARED_H
#include "mlir/IR/Location.h"
#include <string>
#include <vector>

namespace mpc {

/// Links ELF objects (given as bytes) as `-shared -nostdlib` with LLD: it uses no system linker, and only
/// temporary files. Undefined symbols are left for the dynamic linker. Fails with LLD's message at `loc`.
mlir::FailureOr<std::string> linkShared(mlir::Location loc, llvm::ArrayRef<std::string> objects,
                                        llvm::StringRef soname);

/// Joins ELF objects into one relocatable object (`ld -r`), in the same way.
mlir::FailureOr<std::string> linkRelocatable(mlir::Location loc, llvm::ArrayRef<std::string> objects);

} // namespace mpc
#endif
