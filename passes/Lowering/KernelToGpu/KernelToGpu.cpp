//===- KernelToGpu.cpp - a loop dispatch becomes a GPU kernel ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/KernelToGpu/KernelToGpu.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Kernel/Analysis/Countable.h"
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/KernelToGpu/GpuNest.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mpc;

LLVM::LLVMFuncOp mpc::createGpuFunction(OpBuilder &b, kernel::DispatchOp dispatch, StringRef symbol) {
  MLIRContext *context = dispatch.getContext();
  size_t inputs = dispatch.getInputs().size(), buffers = inputs + dispatch.getNumResults();
  SmallVector<int64_t> inPlace = dispatch.inPlaceInputs();
  auto global = LLVM::LLVMPointerType::get(context, 1);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), SmallVector<Type>(buffers, global));
  auto function = LLVM::LLVMFuncOp::create(b, dispatch.getLoc(), symbol, type);
  for (size_t i = 0; i < buffers; ++i) {
    function.setArgAttr(i, "llvm.align", b.getI64IntegerAttr(graph::kTensorAlignment));
    function.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
    bool written = i >= inputs || llvm::is_contained(inPlace, int64_t(i));
    if (!written)
      function.setArgAttr(i, "llvm.readonly", b.getUnitAttr());
  }
  OpBuilder inside = OpBuilder::atBlockBegin(function.addEntryBlock(b));
  LLVM::ReturnOp::create(inside, dispatch.getLoc(), ValueRange{});
  return function;
}

kernel::LaunchAttr mpc::makeKernel(LLVM::LLVMFuncOp function, const Blocks &blocks) {
  function->setAttr(kernel::EntryAttr::name, kernel::EntryAttr::get(function.getContext(), blocks.threads));
  return kernel::LaunchAttr::of(function, blocks.count, /*grain=*/1,
                                llvm::to_vector(llvm::seq<int64_t>(0, function.getNumArguments())));
}

FailureOr<kernel::LaunchAttr> mpc::emitGpuKernel(kernel::DispatchOp dispatch, ModuleOp module, StringRef symbol) {
  if (dispatch.isBatch())
    return emitGpuBatch(dispatch, module, symbol);
  if (failed(kernel::verifyCountable(dispatch)))
    return failure();
  FailureOr<Plan> plan = readPlan(dispatch);
  if (failed(plan))
    return failure();
  Block &body = dispatch.getBody().front();
  ValueRange yielded = dispatch.yielded();
  size_t inputs = body.getNumArguments();
  SmallVector<int64_t> inPlace = dispatch.inPlaceInputs();

  ImplicitLocOpBuilder b(dispatch.getLoc(), dispatch.getContext());
  b.setInsertionPointToEnd(module.getBody());
  LLVM::LLVMFuncOp function = createGpuFunction(b, dispatch, symbol);
  Block *entry = &function.getBody().front();
  b.setInsertionPoint(entry->getTerminator());

  ElementEmitter e(b, module);
  e.tableAddressSpace = 1;
  for (size_t i = 0; i < inputs; ++i)
    e.bindBuffer(body.getArgument(i),
                 {entry->getArgument(i), cast<RankedTensorType>(body.getArgument(i).getType()), {}, {}});
  SmallVector<Buffer> results;
  for (auto [r, input] : llvm::enumerate(inPlace))
    results.push_back(
        {entry->getArgument(input >= 0 ? input : inputs + r), cast<RankedTensorType>(yielded[r].getType()), {}, {}});
  Blocks blocks = emitGpuNest(*plan, dispatch, results, e);
  if (e.failed())
    return failure();
  return makeKernel(function, blocks);
}
