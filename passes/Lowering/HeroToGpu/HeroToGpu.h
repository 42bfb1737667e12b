//===- HeroToGpu.h - matrix products and convolutions as GPU kernels ----------------===//
#ifndef MPC_LOWERING_HEROTOGPU_HEROTOGPU_H
#define MPC_LOWERING_HEROTOGPU_HEROTOGPU_H
#include "dialects/Kernel/Target/GpuArch.h"
#include "passes/Lowering/KernelToGpu/KernelToGpu.h"

namespace mpc {

/// One launch. The launches of a dispatch run in this order; each starts after the one before it is complete.
struct GpuKernel {
  std::string symbol;
  GpuLaunch launch;
  /// For each parameter of the kernel, the number of the buffer that it points to: the dispatch's inputs come
  /// first, then its results; `scratchArgument` is the scratch buffer.
  llvm::SmallVector<int> args;
  /// The tensor maps that the launch passes behind the buffers; each names the parameter whose tensor it
  /// describes.
  llvm::SmallVector<kernel::TensorMapAttr> tensorMaps;
};
inline constexpr int scratchArgument = -1;

/// Appends the kernels of a `library` dispatch to the module: `symbol` and, where its sums are split,
/// `symbol` + "_reduce". The dispatch holds one hero (a graph.matmul, conv, conv_input_grad or
/// conv_weight_grad of inputs of the dispatch) and the pointwise ops that follow it; every result of the
/// dispatch has as many elements as the hero's. The kernels have the form that
/// dialects/Kernel/IR/DeviceOps.td describes and are deterministic. Returns no kernels where there is nothing
/// to compute. Fails with a diagnostic.
///
/// The dispatch carries its schedule (mpc-schedule). Products are exact (f32 products enter the sum by fma),
/// sums are in f32 (in f64 for f64), the sum is rounded once to the hero's type, and then the ops behind the
/// hero follow.
mlir::FailureOr<llvm::SmallVector<GpuKernel>> emitGpuHero(kernel::DispatchOp dispatch, mlir::ModuleOp module,
                                                          llvm::StringRef symbol, const GpuArch &arch);

} // namespace mpc
#endif
