//===- HeroToGpu.h - matrix products and convolutions as GPU kernels ----------------===//
#ifndef MPC_LOWERING_HEROTOGPU_HEROTOGPU_H
#define MPC_LOWERING_HEROTOGPU_HEROTOGPU_H
#include "dialects/Kernel/Target/GpuArch.h"
#include "passes/Lowering/KernelToGpu/KernelToGpu.h"

namespace mpc {

/// One launch. Launches of a dispatch run in their order, each after the one before it is complete.
struct GpuKernel {
  std::string symbol;
  GpuLaunch launch;
  /// By parameter: the position among the dispatch's inputs, then results; `scratchArgument` is the scratch
  /// buffer.
  llvm::SmallVector<int> args;
  /// What the launch passes behind them; each names the parameter that it describes.
  llvm::SmallVector<kernel::TensorMapAttr> tensorMaps;
};
inline constexpr int scratchArgument = -1;

/// Appends the kernels of a `library` dispatch to the module: `symbol`, and where its sums are split `symbol`
/// +
/// "_reduce". The dispatch holds one graph.matmul, conv, conv_input_grad or conv_weight_grad of inputs of the
/// dispatch and whatever is pointwise behind it; its results have as many elements as the hero's. The kernels
/// are of the form of dialects/Kernel/IR/DeviceOps.td and are deterministic. No kernels where there is
/// nothing to compute. Fails with a diagnostic.
///
/// The dispatch carries its schedule (mpc-schedule). Products are exact (f32 ones fused into the sum), sums in f32 (f64 for f64), one rounding to the hero's
/// type, then the ops behind it.
mlir::FailureOr<llvm::SmallVector<GpuKernel>> emitGpuHero(kernel::DispatchOp dispatch, mlir::ModuleOp module,
                                                          llvm::StringRef symbol, const GpuArch &arch);

} // namespace mpc
#endif
