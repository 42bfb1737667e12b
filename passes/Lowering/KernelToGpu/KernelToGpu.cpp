//===- KernelToGpu.cpp - a loop dispatch becomes a GPU kernel ---------------------===//
#include "passes/Lowering/KernelToGpu/KernelToGpu.h"
#include "dialects/Graph/IR/Storage.h"
#include "dialects/Support/Diagnostics.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Lowering/KernelToGpu/GpuNest.h"

using namespace mlir;
using namespace mpc;

LLVM::LLVMFuncOp mpc::createGpuFunction(OpBuilder &b, kernel::DispatchOp dispatch, StringRef symbol) {
  MLIRContext *context = dispatch.getContext();
  size_t inputs = dispatch.getInputs().size(), buffers = inputs + dispatch.getNumResults();
  SmallVector<int64_t> inPlace = dispatch.inPlaceInputs();
  auto global = LLVM::LLVMPointerType::get(context, 1);
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), SmallVector<Type>(buffers, global));
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
  return kernel::LaunchAttr::of(function, blocks.count, /*grain=*/1, llvm::to_vector(llvm::seq<int64_t>(0, function.getNumArguments())));
}

FailureOr<kernel::LaunchAttr> mpc::emitGpuKernel(kernel::DispatchOp dispatch, ModuleOp module, StringRef symbol) {
  if (dispatch.isBatch())
    return emitGpuBatch(dispatch, module, symbol);
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(dispatch.getOperandTypes()),
                                            SmallVector<Type>(dispatch.getResultTypes())))
    if (cast<RankedTensorType>(type).getNumElements() > INT32_MAX)
      return emitErrorWithHint(
          dispatch.getLoc(), "a tensor of 2^31 elements or more has no GPU kernel: threads count in 32 bits",
          "use a smaller batch");
  FailureOr<Plan> plan = planLoops(dispatch, /*diagnose=*/true);
  if (failed(plan))
    return failure();
  Block &body = dispatch.getBody().front();
  ValueRange yielded = body.getTerminator()->getOperands();
  size_t inputs = body.getNumArguments();
  SmallVector<int64_t> inPlace = dispatch.inPlaceInputs();

  OpBuilder b(dispatch.getContext());
  b.setInsertionPointToEnd(module.getBody());
  LLVM::LLVMFuncOp function = createGpuFunction(b, dispatch, symbol);
  Block *entry = &function.getBody().front();
  b.setInsertionPoint(entry->getTerminator());

  ElementEmitter e(b, dispatch.getLoc(), module);
  e.tableAddressSpace = 1;
  for (size_t i = 0; i < inputs; ++i)
    e.bindBuffer(body.getArgument(i),
                 {entry->getArgument(i), cast<RankedTensorType>(body.getArgument(i).getType()), {}, {}});
  SmallVector<Buffer> results;
  for (auto [r, input] : llvm::enumerate(inPlace))
    results.push_back({entry->getArgument(input >= 0 ? input : inputs + r),
                       cast<RankedTensorType>(yielded[r].getType()),
                       {},
                       {}});
  Blocks blocks = emitGpuNest(*plan, dispatch, *kernel::gpuOf(module), results, e);
  if (e.failed())
    return failure();
  return makeKernel(function, blocks);
}

/// Whether only results for a whole row or column need the input, and no reduction does. Then the thread that
/// stores such a result is the only one that loads the elements it is computed from.
static bool readBehindReductions(kernel::DispatchOp dispatch, const Plan &plan, unsigned input) {
  llvm::SetVector<Operation *> forward;
  auto add = [&](Value v) { forward.insert_range(v.getUsers()); };
  add(dispatch.getBody().front().getArgument(input));
  for (size_t i = 0; i < forward.size(); ++i)
    for (Value v : forward[i]->getResults())
      add(v);
  if (llvm::any_of(plan.stages, [&](const auto &stage) {
        return llvm::any_of(stage, [&](Operation *op) { return forward.contains(op); });
      }))
    return false;
  Operation *yield = dispatch.getBody().front().getTerminator();
  return llvm::none_of(plan.fullResults,
                       [&](unsigned r) { return forward.contains(yield->getOperand(r).getDefiningOp()); });
}

/// In a batch a result may take over an input that only its member reads, and that the member has as an input
/// only once.
static Reuses reusesInBatch(kernel::DispatchOp batch) {
  llvm::SmallVector<int> readers(batch.getInputs().size());
  for (kernel::DispatchOp member : batch.members())
    for (Value input : member.getInputs())
      ++readers[cast<BlockArgument>(input).getArgNumber()];
  Reuses reuses;
  for (kernel::DispatchOp member : batch.members())
    for (const auto &inputs : gpuReusableInputs(member)) {
      llvm::SmallVector<int64_t> &outer = reuses.emplace_back();
      for (int64_t input : inputs)
        if (unsigned position = cast<BlockArgument>(member.getInputs()[input]).getArgNumber(); readers[position] == 1)
          outer.push_back(position);
    }
  return reuses;
}

Reuses mpc::gpuReusableInputs(kernel::DispatchOp dispatch) {
  if (dispatch.isBatch())
    return reusesInBatch(dispatch);
  FailureOr<PlannedLoops> planned = planLoopsAndReuses(dispatch, /*diagnose=*/false);
  if (failed(planned) || planned->plan.sliced())
    return Reuses(dispatch.getNumResults());
  const Plan &plan = planned->plan;
  for (auto [r, inputs] : llvm::enumerate(planned->reuses))
    if (plan.form != LoopForm::Pointwise && !llvm::is_contained(plan.fullResults, unsigned(r)))
      llvm::erase_if(inputs, [&](int64_t input) { return !readBehindReductions(dispatch, plan, unsigned(input)); });
  return std::move(planned->reuses);
}
