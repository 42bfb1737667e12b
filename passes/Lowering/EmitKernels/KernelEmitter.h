//===- KernelEmitter.h - emits each distinct dispatch once ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_EMITKERNELS_KERNELEMITTER_H
#define MPC_LOWERING_EMITKERNELS_KERNELEMITTER_H
#include "dialects/Kernel/Analysis/SameCode.h"
#include "mlir/IR/BuiltinOps.h"

namespace mpc {

class KernelEmitter {
public:
  /// Kernels are for the target of `parent`. They go into modules `@kernels0`, ..., at most `units` of them, which are
  /// created at the end of `parent` and have this target themselves.
  KernelEmitter(mlir::ModuleOp parent, unsigned units);

  /// Returns the launches that compute the dispatch: [#kernel.launch]. Emits its kernels where no equal dispatch was
  /// added before. On the host a contraction has loops behind its call (kernel::HostCall). Fails with a located
  /// diagnostic. The dispatch has to outlive the emitter, which compares later ones with it.
  mlir::FailureOr<mlir::ArrayAttr> add(kernel::DispatchOp dispatch);

  /// The number of distinct dispatches so far; flat ones of the host (kernel::isFlat) count as one for all numbers of
  /// elements.
  size_t size() const { return known.size() + flat.size(); }
  /// The modules of kernels so far.
  llvm::ArrayRef<mlir::ModuleOp> modules() const { return made; }

private:
  mlir::ModuleOp nextModule();
  mlir::FailureOr<mlir::ArrayAttr> emit(kernel::DispatchOp dispatch, llvm::StringRef symbol);
  mlir::FailureOr<mlir::ArrayAttr> addFlat(kernel::DispatchOp dispatch);

  mlir::ModuleOp parent;
  kernel::TargetAttr target;
  unsigned units;
  llvm::SmallVector<mlir::ModuleOp> made;
  llvm::DenseMap<kernel::DispatchOp, mlir::ArrayAttr, kernel::SameCode> known;
  llvm::DenseMap<kernel::DispatchOp, kernel::LaunchAttr, kernel::SameFlatCode> flat;
};

} // namespace mpc
#endif
