//===- KernelEmitter.cpp - emits each distinct dispatch once -------------------===//
#include "passes/Lowering/EmitKernels/KernelEmitter.h"
#include "mlir/IR/Builders.h"
#include "passes/Lowering/HeroToGpu/HeroToGpu.h"
#include "passes/Lowering/KernelToHost/KernelToHost.h"

using namespace mlir;
using namespace mpc;

static constexpr llvm::StringLiteral moduleName = "kernels";

ModuleOp KernelEmitter::nextModule() {
  size_t number = known.size() - 1;
  if (made.size() < units) {
    OpBuilder b = OpBuilder::atBlockEnd(parent.getBody());
    made.push_back(ModuleOp::create(b, UnknownLoc::get(parent.getContext()), (moduleName + Twine(made.size())).str()));
  }
  return made[number % units];
}

FailureOr<ArrayAttr> KernelEmitter::emit(kernel::DispatchOp dispatch, StringRef symbol) {
  Builder b(parent.getContext());
  ModuleOp module = nextModule();
  auto refer = [&](StringRef name) { return SymbolRefAttr::get(module.getSymNameAttr(), FlatSymbolRefAttr::get(b.getStringAttr(name))); };
  if (!gpu) {
    FailureOr<LaunchShape> shape = emitHostKernel(dispatch, module, symbol);
    if (failed(shape))
      return failure();
    return b.getArrayAttr(kernel::LaunchAttr::get(b.getContext(), refer(symbol), {shape->grid, 1, 1}, shape->grain, {}));
  }
  SmallVector<GpuKernel> kernels;
  if (dispatch.getLibrary()) {
    FailureOr<SmallVector<GpuKernel>> emitted = emitGpuHero(dispatch, module, symbol, *gpu);
    if (failed(emitted))
      return failure();
    kernels = std::move(*emitted);
  } else {
    FailureOr<GpuLaunch> launch = emitGpuKernel(dispatch, module, symbol, *gpu);
    if (failed(launch))
      return failure();
    int args = dispatch.getInputs().size() + dispatch.getNumResults();
    kernels.push_back({symbol.str(), *launch, llvm::to_vector(llvm::seq(0, args)), {}});
  }
  SmallVector<Attribute> launches;
  for (const GpuKernel &kernel : kernels)
    launches.push_back(kernel::LaunchAttr::get(b.getContext(), refer(kernel.symbol), kernel.launch.grid, 1, llvm::to_vector_of<int64_t>(kernel.args)));
  return b.getArrayAttr(launches);
}

FailureOr<ArrayAttr> KernelEmitter::add(kernel::DispatchOp dispatch) {
  auto [entry, isNew] = known.try_emplace(dispatch);
  if (!isNew)
    return entry->second;
  FailureOr<ArrayAttr> launches = emit(dispatch, ("k" + Twine(known.size() - 1)).str());
  if (failed(launches))
    known.erase(entry);
  else
    entry->second = *launches;
  return launches;
}

SmallVector<ModuleOp> mpc::kernelModules(ModuleOp module) {
  return llvm::filter_to_vector(module.getOps<ModuleOp>(), [](ModuleOp nested) { return nested.getName().value_or("").starts_with(moduleName); });
}
