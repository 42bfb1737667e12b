//===- GpuCodegen.cpp - collects the GPU kernels of a program ------------------------===//
#include "compiler/Codegen/GpuCodegen.h"
#include "compiler/Codegen/HostCodegen.h"
#include "compiler/Codegen/NvptxCodegen.h"
#include "compiler/Codegen/Structure.h"
#include "passes/Lowering/KernelToGpu/KernelToGpu.h"

using namespace mlir;
using namespace mpc;

GpuCodegen::GpuCodegen(MLIRContext *context, const GpuArch &arch) : arch(arch) {
  DialectRegistry registry;
  HostCodegen::registerDialects(registry);
  registerNvptxDialects(registry);
  context->appendDialectRegistry(registry);
  context->loadAllAvailableDialects();
  kernels = ModuleOp::create(UnknownLoc::get(context));
}

FailureOr<ArrayRef<GpuKernel>> GpuCodegen::add(kernel::DispatchOp dispatch) {
  auto [entry, isNew] = known.try_emplace(structureOf(dispatch));
  if (!isNew)
    return ArrayRef<GpuKernel>(entry->second);
  std::string symbol = ("k" + Twine(known.size() - 1)).str();
  auto emit = [&]() -> FailureOr<SmallVector<GpuKernel>> {
    if (dispatch.getLibrary())
      return emitGpuHero(dispatch, *kernels, symbol, arch);
    FailureOr<GpuLaunch> launch = emitGpuKernel(dispatch, *kernels, symbol);
    if (failed(launch))
      return failure();
    int args = dispatch.getInputs().size() + dispatch.getNumResults();
    return SmallVector<GpuKernel>{{symbol, *launch, llvm::to_vector(llvm::seq(0, args)), {}}};
  };
  FailureOr<SmallVector<GpuKernel>> emitted = emit();
  if (failed(emitted)) {
    known.erase(entry);
    return failure();
  }
  entry->second.assign(emitted->begin(), emitted->end());
  return ArrayRef<GpuKernel>(entry->second);
}
