//===- GpuCodegen.h - collects the GPU kernels of a program --------------------------===//
#ifndef MPC_CODEGEN_GPUCODEGEN_H
#define MPC_CODEGEN_GPUCODEGEN_H
#include "passes/Lowering/GpuArch/GpuArch.h"
#include "passes/Lowering/HeroToGpu/HeroToGpu.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"

namespace mpc {

class GpuCodegen {
public:
  GpuCodegen(mlir::MLIRContext *context, const GpuArch &arch);

  /// Emits the dispatch, or finds the same body, types and attributes (names and locations do not count) emitted before: its kernels, in the order of
  /// their launches, valid until the next call. Fails with a located diagnostic.
  mlir::FailureOr<llvm::ArrayRef<GpuKernel>> add(kernel::DispatchOp dispatch);

  /// All kernels so far, in the form of dialects/Kernel/IR/DeviceOps.td.
  mlir::ModuleOp module() { return *kernels; }

private:
  const GpuArch &arch;
  mlir::OwningOpRef<mlir::ModuleOp> kernels;
  llvm::StringMap<llvm::SmallVector<GpuKernel, 1>> known; ///< by the dispatch's structure
};

} // namespace mpc
#endif
