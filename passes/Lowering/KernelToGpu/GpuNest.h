//===- GpuNest.h - who computes which element ----------------------------------===//
#ifndef MPC_LOWERING_KERNELTOGPU_GPUNEST_H
#define MPC_LOWERING_KERNELTOGPU_GPUNEST_H
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "passes/Lowering/KernelToGpu/KernelToGpu.h"
#include "passes/Lowering/KernelToGpu/ThreadReducer.h"
#include "passes/Lowering/LoopPlan/NestSpace.h"

namespace mpc {

/// Threads of a block where nothing else decides: some of them fill a multiprocessor's 1024 to 2048,
/// registers allowing.
inline constexpr int64_t blockThreads = 256;

/// Emits the body of a kernel at e's insertion point: the share of one thread. `results`: a buffer per result
/// of the dispatch.
GpuLaunch emitGpuNest(Plan plan, kernel::DispatchOp dispatch, const GpuArch &arch,
                      llvm::ArrayRef<Buffer> results, ElementEmitter &e);
/// Whether results are values and their transposes, which one launch writes in wide accesses.
bool isTransposedCopy(const Plan &plan, kernel::DispatchOp dispatch);
/// emitGpuNest of such a dispatch.
GpuLaunch emitGpuTransposedCopy(kernel::DispatchOp dispatch, llvm::ArrayRef<Buffer> results,
                                ElementEmitter &e);
/// The same for graph.gather_grad.
GpuLaunch emitGpuGatherGrad(kernel::DispatchOp dispatch, const Buffer &result, ElementEmitter &e);
/// emitGpuKernel of a batch.
mlir::FailureOr<GpuLaunch> emitGpuBatch(kernel::DispatchOp batch, mlir::ModuleOp module,
                                        llvm::StringRef symbol, const GpuArch &arch);
/// `llvm.func @symbol` at b's insertion point, which returns: a pointer per input, then per result of the
/// dispatch, with what LLVM may know of them.
mlir::LLVM::LLVMFuncOp createGpuFunction(mlir::OpBuilder &b, kernel::DispatchOp dispatch,
                                         llvm::StringRef symbol);

/// What the nests of a GPU share: positions of threads, in i32.
struct ThreadEmitter {
  ElementEmitter &e;

  mlir::Value i32(int64_t v) const { return e.constantInt(e.b.getI32Type(), v); }
  mlir::Value wide(mlir::Value v) const;
  mlir::Value thread() const;
  mlir::Value block() const;
  mlir::Value add(mlir::Value a, mlir::Value b) const;
  mlir::Value mul(mlir::Value a, int64_t b) const;
  mlir::Value div(mlir::Value a, int64_t b) const;
  mlir::Value mod(mlir::Value a, int64_t b) const;
  /// a < b, of unsigned numbers.
  mlir::Value below(mlir::Value a, int64_t b) const;
  /// for (i32 i = first; i < count; i += step) carried = body(i, carried); returns the last.
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value first, int64_t count, int64_t step, mlir::ValueRange init,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body) const;
};

} // namespace mpc
#endif
