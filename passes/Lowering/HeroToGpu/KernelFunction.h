//===- KernelFunction.h - the function of a kernel ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_HEROTOGPU_KERNELFUNCTION_H
#define MPC_LOWERING_HEROTOGPU_KERNELFUNCTION_H
#include "passes/Lowering/Elemental/ElementEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mpc::hero {

/// A function that is emitted, and for each parameter the number of the buffer that it points to: the dispatch's
/// inputs come first, then its results; the scratch is LaunchAttr::scratch.
struct KernelFunction {
  mlir::LLVM::LLVMFuncOp function;
  llvm::SmallVector<int64_t> args;
  bool failed; ///< an op has no elemental model, for which a diagnostic was emitted
};

/// Starts a function with one parameter for each of these positions and calls `emit` with the parameters, keyed by
/// position.
KernelFunction emitFunction(kernel::DispatchOp dispatch, mlir::ModuleOp module, mlir::Location loc,
                            const llvm::Twine &name, llvm::ArrayRef<int64_t> positions,
                            llvm::function_ref<void(ElementEmitter &, llvm::DenseMap<int64_t, mlir::Value> &)> emit);

} // namespace mpc::hero
#endif
