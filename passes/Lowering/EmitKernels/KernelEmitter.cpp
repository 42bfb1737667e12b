//===- KernelEmitter.cpp - emits each distinct dispatch once -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/EmitKernels/KernelEmitter.h"
#include "dialects/Kernel/Analysis/LoopsBehind.h"
#include "dialects/Kernel/Analysis/Space.h"
#include "passes/Lowering/AttentionToGpu/AttentionToGpu.h"
#include "passes/Lowering/HeroToGpu/HeroToGpu.h"
#include "passes/Lowering/KernelToGpu/KernelToGpu.h"
#include "passes/Lowering/KernelToHost/KernelToHost.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mpc;

KernelEmitter::KernelEmitter(ModuleOp parent, unsigned units)
    : parent(parent), target(kernel::TargetAttr::of(parent)), units(units) {
  if (!target)
    target = kernel::TargetAttr::get(parent.getContext(), "host");
}

ModuleOp KernelEmitter::nextModule() {
  size_t number = size() - 1;
  if (made.size() < units) {
    OpBuilder b = OpBuilder::atBlockEnd(parent.getBody());
    made.push_back(ModuleOp::create(b, UnknownLoc::get(parent.getContext()), ("kernels" + Twine(made.size())).str()));
    made.back()->setAttr(kernel::TargetAttr::name, target);
  }
  return made[number % units];
}

/// Emits the loops behind a host library's call.
static FailureOr<kernel::LaunchAttr> emitLoopsBehind(const kernel::HostCall &call, kernel::DispatchOp dispatch,
                                                     ModuleOp module, StringRef symbol) {
  FailureOr<kernel::LoopsBehind> loops = kernel::LoopsBehind::of(call, dispatch);
  if (failed(loops))
    return failure();
  loops->dispatch.setLoopsAttr(dispatch.getLoopsAttr());
  FailureOr<kernel::LaunchAttr> launch = emitHostKernel(loops->dispatch, module, symbol);
  if (failed(launch))
    return failure();
  return kernel::LaunchAttr::get(module.getContext(), launch->getKernel(), launch->getGrid(),
                                 std::min(launch->getGrain(), launch->getGrid().front()), loops->args);
}

FailureOr<ArrayAttr> KernelEmitter::emit(kernel::DispatchOp dispatch, StringRef symbol) {
  ModuleOp module = nextModule();
  if (target.getGpu() && (dispatch.isContraction() || dispatch.isAttention())) {
    FailureOr<SmallVector<kernel::LaunchAttr>> launches =
        dispatch.isAttention() ? emitGpuAttention(dispatch, module, symbol) : emitGpuHero(dispatch, module, symbol);
    if (failed(launches))
      return failure();
    return ArrayAttr::get(parent.getContext(), llvm::to_vector_of<Attribute>(*launches));
  }
  if (dispatch.isContraction()) {
    FailureOr<kernel::HostCall> call = kernel::HostCall::of(dispatch);
    if (failed(call))
      return failure();
    FailureOr<kernel::LaunchAttr> loops = emitLoopsBehind(*call, dispatch, module, symbol);
    if (failed(loops))
      return failure();
    return ArrayAttr::get(parent.getContext(), Attribute(*loops));
  }
  FailureOr<kernel::LaunchAttr> launch =
      target.getGpu() ? emitGpuKernel(dispatch, module, symbol) : emitHostKernel(dispatch, module, symbol);
  if (failed(launch))
    return failure();
  return ArrayAttr::get(parent.getContext(), Attribute(*launch));
}

/// The launches of one kernel differ in their grids, which count the elements.
FailureOr<ArrayAttr> KernelEmitter::addFlat(kernel::DispatchOp dispatch) {
  auto [entry, isNew] = flat.try_emplace(dispatch);
  if (isNew) {
    FailureOr<kernel::LaunchAttr> launch = emitHostKernel(dispatch, nextModule(), ("k" + Twine(size() - 1)).str());
    if (failed(launch))
      return flat.erase(entry), failure();
    entry->second = *launch;
  }
  kernel::LaunchAttr launch = entry->second;
  int64_t elements = kernel::countOf(dispatch.yielded().front());
  return ArrayAttr::get(parent.getContext(),
                        kernel::LaunchAttr::get(parent.getContext(), launch.getKernel(), {elements, 1, 1},
                                                std::min(launch.getGrain(), elements), launch.getArgs()));
}

FailureOr<ArrayAttr> KernelEmitter::add(kernel::DispatchOp dispatch) {
  if (!target.getGpu() && kernel::isFlat(dispatch))
    return addFlat(dispatch);
  auto [entry, isNew] = known.try_emplace(dispatch);
  if (!isNew)
    return entry->second;
  FailureOr<ArrayAttr> launches = emit(dispatch, ("k" + Twine(size() - 1)).str());
  if (failed(launches))
    known.erase(entry);
  else
    entry->second = *launches;
  return launches;
}
