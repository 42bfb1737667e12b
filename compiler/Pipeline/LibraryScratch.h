//===- LibraryScratch.h - memory that library calls need ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_PIPELINE_LIBRARYSCRATCH_H
#define MPC_PIPELINE_LIBRARYSCRATCH_H
#include "mpc/library.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mpc {
#define GEN_PASS_DECL
#include "compiler/Pipeline/Passes.h.inc"

/// mpc-library-scratch (Passes.td). `builtIn` is the entry of the built-in loops, which belong to the runtime; where it
/// is null only the plugin is asked.
std::unique_ptr<mlir::Pass> createLibraryScratchPass(LibraryScratchPassOptions options, mpc_library_entry_fn builtIn);

/// Opens a plugin, which then stays loaded. Returns null on failure, with a sentence in `why`.
mpc_library_entry_fn openLibrary(const std::string &path, std::string &why);

} // namespace mpc
#endif
