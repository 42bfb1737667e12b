//===- KernelToGpu.cpp - a loop dispatch becomes a GPU kernel ---------------------===//
#include "passes/Lowering/KernelToGpu/KernelToGpu.h"
#include "dialects/Support/Diagnostics.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Lowering/KernelToGpu/GpuNest.h"

using namespace mlir;
using namespace mpc;

FailureOr<GpuLaunch> mpc::emitGpuKernel(kernel::DispatchOp dispatch, ModuleOp module, StringRef symbol) {
  MLIRContext *context = dispatch.getContext();
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(dispatch.getOperandTypes()), SmallVector<Type>(dispatch.getResultTypes())))
    if (cast<RankedTensorType>(type).getNumElements() > INT32_MAX)
      return emitErrorWithHint(dispatch.getLoc(), "a tensor of 2^31 elements or more has no GPU kernel: threads count in 32 bits", "use a smaller batch");
  FailureOr<Plan> plan = planLoops(dispatch, /*diagnose=*/true);
  if (failed(plan))
    return failure();
  Block &body = dispatch.getBody().front();
  ValueRange yielded = body.getTerminator()->getOperands();
  size_t inputs = body.getNumArguments(), buffers = inputs + yielded.size();
  SmallVector<int64_t> inPlace = inPlaceInputs(dispatch);

  OpBuilder b(context);
  b.setInsertionPointToEnd(module.getBody());
  Location loc = dispatch.getLoc();
  auto global = LLVM::LLVMPointerType::get(context, 1);
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), SmallVector<Type>(buffers, global));
  auto function = LLVM::LLVMFuncOp::create(b, loc, symbol, type);
  for (size_t i = 0; i < buffers; ++i) {
    function.setArgAttr(i, "llvm.align", b.getI64IntegerAttr(64)); // the arena's alignment
    function.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
    bool written = i >= inputs || llvm::is_contained(inPlace, int64_t(i));
    if (!written)
      function.setArgAttr(i, "llvm.readonly", b.getUnitAttr());
  }
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  LLVM::ReturnOp::create(b, loc, ValueRange{});

  ElementEmitter e(b, loc, module);
  e.tableAddressSpace = 1;
  e.b.setInsertionPoint(entry->getTerminator());
  for (size_t i = 0; i < inputs; ++i)
    e.bindBuffer(body.getArgument(i),
                 {entry->getArgument(i), cast<RankedTensorType>(body.getArgument(i).getType()), {}, {}});
  SmallVector<Buffer> results;
  for (auto [r, input] : llvm::enumerate(inPlace))
    results.push_back({entry->getArgument(input >= 0 ? input : inputs + r),
                       cast<RankedTensorType>(yielded[r].getType()),
                       {},
                       {}});
  GpuLaunch launch = emitGpuNest(*plan, dispatch, results, e);
  function->setAttr("kernel.threads", b.getI32IntegerAttr(launch.threads));
  if (e.failed())
    return failure();
  return launch;
}

bool mpc::mayShareBufferOnGpu(kernel::DispatchOp dispatch, unsigned result, unsigned input) {
  if (!mayShareBuffer(dispatch, result, input))
    return false;
  FailureOr<Plan> plan = planLoops(dispatch, /*diagnose=*/false);
  return succeeded(plan) && (plan->form == LoopForm::Pointwise || llvm::is_contained(plan->fullResults, result));
}
