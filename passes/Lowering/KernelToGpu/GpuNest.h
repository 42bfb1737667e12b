//===- GpuNest.h - which thread computes which element ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_KERNELTOGPU_GPUNEST_H
#define MPC_LOWERING_KERNELTOGPU_GPUNEST_H
#include "passes/Lowering/KernelToGpu/KernelToGpu.h"
#include "passes/Lowering/LoopPlan/Plan.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mpc {

/// The blocks of a launch, all along x, and the threads of each.
struct Blocks {
  int64_t count, threads;
};

/// Emits the body of a kernel at e's insertion point: the code of one thread. `results` has a buffer for each
/// result of the dispatch.
Blocks emitGpuNest(Plan plan, kernel::DispatchOp dispatch, llvm::ArrayRef<Buffer> results, ElementEmitter &e);
/// Does the same for values and their transposes (Walk::Copies), which one launch writes in wide accesses.
Blocks emitGpuTransposedCopy(const Plan &plan, kernel::DispatchOp dispatch, llvm::ArrayRef<Buffer> results,
                             ElementEmitter &e);
/// Does the same for graph.scatter.
Blocks emitGpuScatter(kernel::DispatchOp dispatch, const Buffer &result, ElementEmitter &e);
/// Does what emitGpuKernel does, for a batch.
mlir::FailureOr<kernel::LaunchAttr> emitGpuBatch(kernel::DispatchOp batch, mlir::ModuleOp module,
                                                 llvm::StringRef symbol);
/// Creates `llvm.func @symbol` at b's insertion point; its body only returns. The parameters are a pointer for each
/// input and then for each result of the dispatch, with attributes that say what LLVM may know of them.
mlir::LLVM::LLVMFuncOp createGpuFunction(mlir::OpBuilder &b, kernel::DispatchOp dispatch, llvm::StringRef symbol);
/// Completes such a function, whose code is emitted: it becomes a GPU kernel. Returns its launch with the buffers
/// of the dispatch.
kernel::LaunchAttr makeKernel(mlir::LLVM::LLVMFuncOp function, const Blocks &blocks);

} // namespace mpc
#endif
