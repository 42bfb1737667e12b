//===- KernelToGpu.h - one loop dispatch becomes one GPU kernel ---------------===//
#ifndef MPC_LOWERING_KERNELTOGPU_KERNELTOGPU_H
#define MPC_LOWERING_KERNELTOGPU_KERNELTOGPU_H
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Kernel/Target/GpuArch.h"
#include "mlir/IR/BuiltinOps.h"
#include "dialects/Kernel/IR/Kernel.h"
#include <array>

namespace mpc {

/// How a kernel is launched: the blocks along each axis, the threads of a block, and `kernel.resident` and
/// `kernel.cluster` (dialects/Kernel/IR/DeviceOps.td and HopperOps.td).
struct GpuLaunch {
  std::array<int64_t, 3> grid = {1, 1, 1};
  int64_t threads = 32;
  int64_t resident = 0, cluster = 1;
};

/// Appends `llvm.func @symbol` to the module, with one `!llvm.ptr<1>` for each input and then for each result
/// of the dispatch, which is not a `library` dispatch. The kernel has the form that
/// dialects/Kernel/IR/DeviceOps.td describes. `in_place` makes a result use its
/// input's pointer. Fails with a diagnostic at an op that has no elemental model.
mlir::FailureOr<GpuLaunch> emitGpuKernel(kernel::DispatchOp dispatch, mlir::ModuleOp module,
                                         llvm::StringRef symbol, const GpuArch &arch);

} // namespace mpc
#endif
