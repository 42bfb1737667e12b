// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/HeroToGpu/KernelFunction.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/IR/Kernel.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

KernelFunction
mpc::hero::emitFunction(kernel::DispatchOp dispatch, ModuleOp module, Location loc, const Twine &name,
                        ArrayRef<int64_t> positions,
                        llvm::function_ref<void(ElementEmitter &, llvm::DenseMap<int64_t, Value> &)> emit) {
  llvm::SmallVector<int64_t> unique;
  for (int64_t position : positions)
    if (!llvm::is_contained(unique, position))
      unique.push_back(position);
  ImplicitLocOpBuilder b(loc, module.getContext());
  b.setInsertionPointToEnd(module.getBody());
  auto global = LLVM::LLVMPointerType::get(b.getContext(), 1);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                          llvm::SmallVector<Type>(unique.size(), global));
  auto function = LLVM::LLVMFuncOp::create(b, loc, name.str(), type);
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  LLVM::ReturnOp::create(b, loc, ValueRange{});
  llvm::DenseMap<int64_t, Value> parameters;
  for (auto [i, position] : llvm::enumerate(unique)) {
    function.setArgAttr(i, "llvm.align", b.getI64IntegerAttr(graph::kTensorAlignment));
    if (position != kernel::LaunchAttr::scratch)
      function.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
    if (position != kernel::LaunchAttr::scratch && position < int64_t(dispatch.getInputs().size()))
      function.setArgAttr(i, "llvm.readonly", b.getUnitAttr());
    parameters[position] = entry->getArgument(i);
  }
  ElementEmitter e(b, module);
  e.tableAddressSpace = 1;
  b.setInsertionPoint(entry->getTerminator());
  emit(e, parameters);
  return {function, std::move(unique), e.failed()};
}
