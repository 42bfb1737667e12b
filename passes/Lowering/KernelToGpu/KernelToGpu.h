//===- KernelToGpu.h - one loop dispatch becomes one GPU kernel ---------------===//
#ifndef MPC_LOWERING_KERNELTOGPU_KERNELTOGPU_H
#define MPC_LOWERING_KERNELTOGPU_KERNELTOGPU_H
#include "dialects/Kernel/IR/Kernel.h"
#include "dialects/Kernel/Target/GpuArch.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Lowering/LoopPlan/LoopForm.h"
#include <array>

namespace mpc {

/// How a kernel is started: blocks per axis, threads of a block; `kernel.resident`, `kernel.cluster`.
struct GpuLaunch {
  std::array<int64_t, 3> grid = {1, 1, 1};
  int64_t threads = 32;
  int64_t resident = 0, cluster = 1;
};

/// Appends `llvm.func @symbol` to the module, one `!llvm.ptr<1>` per input and then per result of the
/// dispatch (which is no `library` one). The form is that of dialects/Kernel/IR/DeviceOps.td. `in_place` (see
/// LoopPlan/LoopForm.h) makes a result use its input's pointer. Fails with a diagnostic at an op that has no
/// elemental model.
mlir::FailureOr<GpuLaunch> emitGpuKernel(kernel::DispatchOp dispatch, mlir::ModuleOp module,
                                         llvm::StringRef symbol, const GpuArch &arch);

/// `reusableInputs` for GPUs: of what the threads of a row or column read together, one thread's store would
/// come before another's load, so only what each thread reads for itself qualifies. In a batch, only one member
/// may read the input.
Reuses gpuReusableInputs(kernel::DispatchOp dispatch);

} // namespace mpc
#endif
