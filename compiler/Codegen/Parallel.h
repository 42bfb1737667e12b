//===- Parallel.h - modules of kernels on several threads ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_CODEGEN_PARALLEL_H
#define MPC_CODEGEN_PARALLEL_H
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include <vector>

namespace mpc {

/// Deals the device kernels of a module out to at most `parts` modules, which are the units of parallel compilation:
/// kernel i goes to part i mod `parts`, together with the symbols that it uses. The parts have the target of `kernels`.
std::vector<mlir::OwningOpRef<mlir::ModuleOp>> dealKernels(mlir::ModuleOp kernels, size_t parts);

/// Calls work(i) for every i below `count` on at most `threads` threads. All of them may create types and
/// attributes in `context`, whether or not it was created for several threads.
void onThreads(mlir::MLIRContext *context, size_t count, unsigned threads, llvm::function_ref<void(size_t)> work);

} // namespace mpc
#endif
