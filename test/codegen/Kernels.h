//===- Kernels.h - the kernels of dispatches, as mpc-emit-kernels makes them --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TEST_CODEGEN_KERNELS_H
#define MPC_TEST_CODEGEN_KERNELS_H
#include "compiler/Codegen/HostCodegen.h"
#include "dialects/Kernel/Analysis/HostCall.h"
#include "passes/Lowering/EmitKernels/KernelEmitter.h"
#include "passes/Lowering/LoopPlan/Passes.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"

namespace mpc::test {

/// Emits the kernels of dispatches, each of which is in a module of its own, into one module.
class Kernels {
public:
  /// `gpu` is null for the host.
  explicit Kernels(mlir::MLIRContext *context, const GpuArch *gpu = nullptr)
      : parent(moduleFor(context, gpu)), emitter(*parent, gpu ? 1 : hostUnits) {}

  /// Returns all launches of a dispatch: [#kernel.launch]. A host library's call without loops behind it has none.
  mlir::FailureOr<mlir::ArrayAttr> addAll(kernel::DispatchOp dispatch) {
    mlir::FailureOr<kernel::DispatchOp> planned = keep(dispatch);
    if (failed(planned))
      return mlir::failure();
    if (dispatch.isContraction() && !kernel::gpuOf(*planned)) {
      mlir::FailureOr<kernel::HostCall> call = kernel::HostCall::of(*planned);
      if (failed(call))
        return mlir::failure();
      if (!call->hasLoops())
        return mlir::ArrayAttr::get(dispatch.getContext(), {});
    }
    return emitter.add(*planned);
  }
  /// Returns the launch of a dispatch that has only one.
  mlir::FailureOr<kernel::LaunchAttr> add(kernel::DispatchOp dispatch) {
    mlir::FailureOr<mlir::ArrayAttr> launches = addAll(dispatch);
    if (failed(launches))
      return mlir::failure();
    assert(launches->size() == 1 && "loops are one launch");
    return mlir::cast<kernel::LaunchAttr>((*launches)[0]);
  }
  size_t size() const { return emitter.size(); }
  llvm::ArrayRef<mlir::ModuleOp> modules() const { return emitter.modules(); }
  mlir::FailureOr<std::vector<HostObject>> compile(llvm::ArrayRef<HostCpu> cpus, unsigned threads = 2) const {
    return compileHostKernels(emitter.modules(), cpus, threads);
  }

private:
  static mlir::ModuleOp moduleFor(mlir::MLIRContext *context, const GpuArch *gpu) {
    auto module = mlir::ModuleOp::create(mlir::UnknownLoc::get(context));
    module->setAttr(kernel::TargetAttr::name,
                    kernel::TargetAttr::get(context, gpu ? gpu->name : llvm::StringRef("host")));
    return module;
  }
  /// Returns the dispatch's copy in a copy of its module, for the emitter compares later dispatches with it, and the
  /// caller may drop the module. The copy has loops.
  mlir::FailureOr<kernel::DispatchOp> keep(kernel::DispatchOp dispatch) {
    auto module = dispatch->getParentOfType<mlir::ModuleOp>();
    copies.emplace_back(module.clone());
    llvm::SmallVector<kernel::DispatchOp> from, to;
    module.walk([&](kernel::DispatchOp op) { from.push_back(op); });
    copies.back()->walk([&](kernel::DispatchOp op) { to.push_back(op); });
    (*copies.back())->setAttr(kernel::TargetAttr::name, kernel::TargetAttr::of(*parent));
    mlir::PassManager passes(module.getContext());
    passes.addPass(createPlanLoopsPass());
    if (failed(passes.run(*copies.back())))
      return mlir::failure();
    return to[llvm::find(from, dispatch) - from.begin()];
  }

  mlir::OwningOpRef<mlir::ModuleOp> parent;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> copies;
  KernelEmitter emitter;
};

inline std::string symbolOf(kernel::LaunchAttr launch) { return launch.getKernel().getLeafReference().str(); }

} // namespace mpc::test
#endif
