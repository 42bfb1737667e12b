//===- KernelToHost.cpp - a dispatch becomes a function over a slice of its grid ---===//
//
// Emission happens twice. A rehearsal walks every factor of the space in a loop of its own and records which index forms become code; from
// them follow the loops that can be merged, the schedule, and whether results may overwrite operands. Then the kernel is emitted.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/KernelToHost/KernelToHost.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Lowering/KernelToHost/Plan.h"

using namespace mlir;
using namespace mpc;

namespace {

struct Emission {
  LLVM::LLVMFuncOp function;
  LaunchShape launch;
  bool failed = false;
  unsigned inlineReductions = 0;
  std::vector<Index> forms;
  std::vector<ElementEmitter::Access> accesses;
  llvm::SmallVector<Value> inputPointers, resultPointers;
};

} // namespace

/// Every buffer is a memory of its own, but for results that share an operand's.
static ArrayAttr scopesWithout(ArrayRef<Attribute> scopes, size_t skip, MLIRContext *context) {
  llvm::SmallVector<Attribute> others;
  for (auto [i, scope] : llvm::enumerate(scopes))
    if (i != skip)
      others.push_back(scope);
  return others.empty() ? ArrayAttr() : ArrayAttr::get(context, others);
}

static Emission emitFunction(kernel::DispatchOp dispatch, const Plan &plan, ModuleOp module, StringRef symbol, bool rehearsal) {
  MLIRContext *context = dispatch.getContext();
  OpBuilder b(context);
  b.setInsertionPointToEnd(module.getBody());
  Location loc = dispatch.getLoc();
  auto pointer = LLVM::LLVMPointerType::get(context);
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), {pointer, b.getI64Type(), b.getI64Type()});
  Emission emission;
  emission.function = LLVM::LLVMFuncOp::create(b, loc, symbol, type);
  emission.function.setNoUnwind(true);
  Block *entry = emission.function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  LLVM::ReturnOp::create(b, loc, ValueRange{});
  b.setInsertionPointToStart(entry);

  Block &body = dispatch.getBody().front();
  ValueRange yielded = body.getTerminator()->getOperands();
  size_t inputs = body.getNumArguments(), results = yielded.size();
  llvm::SmallVector<int64_t> inPlace(results, -1);
  if (auto attr = dispatch->getAttrOfType<DenseI64ArrayAttr>("in_place"))
    inPlace.assign(attr.asArrayRef().begin(), attr.asArrayRef().end());

  auto domain = LLVM::AliasScopeDomainAttr::get(context, b.getStringAttr(symbol));
  llvm::SmallVector<Attribute> scopes;
  for (size_t i = 0; i < inputs + results; ++i)
    scopes.push_back(LLVM::AliasScopeAttr::get(domain));
  ElementEmitter e(b, loc, module);
  e.b.setInsertionPoint(entry->getTerminator());
  e.recording = rehearsal;
  auto bufferAt = [&](size_t position, size_t scope, Type tensor) -> Buffer {
    Value at = LLVM::GEPOp::create(e.b, pointer, pointer, entry->getArgument(0), ArrayRef<LLVM::GEPArg>{int32_t(position)},
                                   LLVM::GEPNoWrapFlags::inbounds);
    Value base = LLVM::LoadOp::create(e.b, pointer, at, /*alignment=*/8);
    return {base, cast<RankedTensorType>(tensor), b.getArrayAttr(scopes[scope]), scopesWithout(scopes, scope, context)};
  };
  llvm::SmallVector<Buffer> inputBuffers;
  for (size_t i = 0; i < inputs; ++i) {
    inputBuffers.push_back(bufferAt(i, i, body.getArgument(i).getType()));
    e.bindBuffer(body.getArgument(i), inputBuffers.back());
    emission.inputPointers.push_back(inputBuffers.back().pointer);
  }
  KernelBuffers buffers;
  for (size_t r = 0; r < results; ++r) {
    if (inPlace[r] >= 0) { // the same SSA pointer: LLVM then knows that both are one memory
      buffers.results.push_back(inputBuffers[inPlace[r]]);
      buffers.results.back().type = cast<RankedTensorType>(yielded[r].getType());
    } else {
      buffers.results.push_back(bufferAt(inputs + r, inputs + r, yielded[r].getType()));
    }
    emission.resultPointers.push_back(buffers.results.back().pointer);
  }

  Value begin = entry->getArgument(1), end = entry->getArgument(2);
  emission.launch = plan.form == LoopForm::Special ? emitGatherGrad(dispatch, buffers, e, begin, end)
                                                   : emitNest(plan, dispatch, buffers, e, begin, end);
  emission.failed = e.failed();
  emission.inlineReductions = e.inlineReductions;
  emission.forms = std::move(e.forms);
  emission.accesses = std::move(e.accesses);
  return emission;
}

/// Row loops run over contiguous memory unless more bytes are read contiguously along the last kept dimension.
static Schedule chooseSchedule(const Plan &plan, ArrayRef<ElementEmitter::Access> accesses) {
  if (plan.kept.empty() || plan.reduced.empty())
    return Schedule::Rows;
  SymbolId column = plan.kept.back().factors.back(), row = plan.reduced.back().factors.back();
  int64_t alongColumn = 0, alongRow = 0;
  for (const auto &access : accesses) {
    if (access.linear.coefficient(column) == 1 && access.linear.coefficient(row) != 0)
      alongColumn += access.bytes;
    if (access.linear.coefficient(row) == 1)
      alongRow += access.bytes;
  }
  return alongColumn > alongRow ? Schedule::Columns : Schedule::Rows;
}

/// The variable for Plan::tiled: along it some operand is contiguous that is strided along the innermost one.
static int chooseTiled(const Plan &plan, ArrayRef<ElementEmitter::Access> accesses) {
  constexpr int64_t least = 8;
  if (plan.form != LoopForm::Pointwise || plan.kept.size() < 2 || plan.kept.back().extent < least)
    return -1;
  SymbolId inner = plan.kept.back().factors.back();
  for (const auto &access : accesses) {
    if (access.isStore || std::abs(access.linear.coefficient(inner)) <= 1)
      continue;
    for (int i = plan.kept.size() - 2; i >= 0; --i)
      if (plan.kept[i].extent >= least && std::abs(access.linear.coefficient(plan.kept[i].factors.back())) == 1)
        return i;
  }
  return -1;
}

/// Plans and rehearses. The scratch module is dropped with what the rehearsal emitted.
static FailureOr<std::pair<Plan, Emission>> rehearse(kernel::DispatchOp dispatch, bool diagnose) {
  dispatch.getContext()->loadDialect<arith::ArithDialect, math::MathDialect, scf::SCFDialect, LLVM::LLVMDialect>();
  FailureOr<Plan> plan = planDispatch(dispatch, diagnose);
  if (failed(plan))
    return failure();
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(dispatch.getLoc());
  Emission emission = emitFunction(dispatch, *plan, *scratch, "rehearsal", /*rehearsal=*/true);
  if (emission.failed)
    return failure();
  if (plan->form == LoopForm::Special || plan->irregular)
    return std::make_pair(*plan, emission);
  plan->mergeLoops(emission.forms);
  plan->schedule = chooseSchedule(*plan, emission.accesses);
  plan->tiled = chooseTiled(*plan, emission.accesses);
  return std::make_pair(*plan, emission);
}

FailureOr<Plan> mpc::planLoops(kernel::DispatchOp dispatch, bool diagnose) {
  auto rehearsed = rehearse(dispatch, diagnose);
  if (failed(rehearsed))
    return failure();
  return rehearsed->first;
}

std::optional<LoopForm> mpc::classify(kernel::DispatchOp dispatch) {
  auto rehearsed = rehearse(dispatch, /*diagnose=*/false);
  if (failed(rehearsed) || rehearsed->first.irregular || rehearsed->second.inlineReductions > 0)
    return std::nullopt;
  return rehearsed->first.form;
}

bool mpc::mayShareBuffer(kernel::DispatchOp dispatch, unsigned result, unsigned input) {
  auto storage = [](Type tensor) {
    return ElementEmitter::storageType(cast<RankedTensorType>(tensor).getElementType()).getIntOrFloatBitWidth();
  };
  Type from = dispatch.getInputs()[input].getType(), to = dispatch.getResultTypes()[result];
  if (storage(from) != storage(to) || cast<RankedTensorType>(from).getNumElements() != cast<RankedTensorType>(to).getNumElements())
    return false;
  kernel::DispatchOp op = dispatch;
  auto rehearsed = rehearse(op, /*diagnose=*/false);
  if (failed(rehearsed) || rehearsed->first.irregular || rehearsed->first.form == LoopForm::Special ||
      rehearsed->second.inlineReductions > 0)
    return false;
  const Emission &emission = rehearsed->second;
  const Index *written = nullptr;
  for (const auto &access : emission.accesses)
    if (access.isStore && access.pointer == emission.resultPointers[result])
      written = &access.linear;
  return written && llvm::all_of(emission.accesses, [&](const ElementEmitter::Access &access) {
    return access.pointer != emission.inputPointers[input] || access.linear == *written;
  });
}

/// Nanoseconds that one position of the grid takes, roughly: vectorised arithmetic, math functions, memory.
static double estimate(LLVM::LLVMFuncOp function, double iterations) {
  double perElement = 0;
  function.walk([&](Operation *op) {
    StringRef dialect = op->getName().getDialectNamespace();
    if (isa<LLVM::LoadOp, LLVM::StoreOp>(op))
      perElement += 0.2;
    else if (dialect == "math")
      perElement += 1;
    else if (dialect == "arith")
      perElement += 0.03;
  });
  return perElement * iterations;
}

FailureOr<LaunchShape> mpc::emitHostKernel(kernel::DispatchOp dispatch, ModuleOp module, StringRef symbol) {
  auto rehearsed = rehearse(dispatch, /*diagnose=*/true);
  if (failed(rehearsed))
    return failure();
  const Plan &plan = rehearsed->first;
  Emission emission = emitFunction(dispatch, plan, module, symbol, /*rehearsal=*/false);
  // A thread should have 10 microseconds of work: several times what waking it costs.
  double iterations = plan.form == LoopForm::Special
                          ? graph::typeOf(dispatch.getBody().front().getTerminator()->getOperand(0)).getNumElements()
                          : plan.keptCount() * plan.reducedCount();
  double ns = estimate(emission.function, iterations / std::max<int64_t>(emission.launch.grid, 1));
  emission.launch.grain = std::clamp<int64_t>(int64_t(std::ceil(10000 / std::max(ns, 1.0))), 1, emission.launch.grid);
  return emission.launch;
}
