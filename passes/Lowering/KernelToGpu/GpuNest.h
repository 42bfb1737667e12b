//===- GpuNest.h - who computes which element ----------------------------------===//
#ifndef MPC_LOWERING_KERNELTOGPU_GPUNEST_H
#define MPC_LOWERING_KERNELTOGPU_GPUNEST_H
#include "passes/Lowering/KernelToGpu/KernelToGpu.h"
#include "passes/Lowering/LoopPlan/NestSpace.h"

namespace mpc {

/// Emits the body of a kernel at e's insertion point: the share of one thread. `results`: a buffer per result
/// of the dispatch.
GpuLaunch emitGpuNest(Plan plan, kernel::DispatchOp dispatch, llvm::ArrayRef<Buffer> results,
                      ElementEmitter &e);

/// Reductions across threads. All of them leave the result in every thread that takes part.
class ThreadReducer {
public:
  explicit ThreadReducer(ElementEmitter &e) : e(e) {}
  /// Over the 32 threads of each warp, by shuffles; accumulators of 32 bits.
  mlir::Value overWarp(mlir::Operation *reduction, mlir::Value accumulator);
  /// Over all `threads` of the block, through shared memory; any accumulator.
  mlir::Value overBlock(mlir::Operation *reduction, mlir::Value accumulator, mlir::Value thread,
                        int64_t threads);
  /// Over the `groups` threads of a block with the same number modulo `columns`.
  mlir::Value overGroups(mlir::Operation *reduction, mlir::Value accumulator, mlir::Value thread,
                         int64_t columns, int64_t groups);

  /// Whether shuffles take values of this type.
  static bool shuffles(mlir::Type accumulator);

private:
  mlir::Value combine(mlir::Operation *reduction, mlir::Value a, mlir::Value b);
  Buffer shared(mlir::Type element, int64_t count);
  ElementEmitter &e;
};

} // namespace mpc
#endif
