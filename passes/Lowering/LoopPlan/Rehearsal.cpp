//===- Rehearsal.cpp - dry runs of emission ------------------------------------===//
//
// A rehearsal emits the dispatch into a module that is thrown away, with every factor of the space in a loop
// of its own, and records which addresses are read and written and which index forms become code. This record
// decides which loops are merged, which schedule is used, and whether results may overwrite operands.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Lowering/LoopPlan/NestSpace.h"

using namespace mlir;
using namespace mpc;

namespace {

/// A plan, and the record of its rehearsal.
struct Rehearsal {
  Plan plan;
  OwningOpRef<ModuleOp> scratch; ///< has the function whose parameters are the pointers that the accesses name
  unsigned inlineReductions = 0;
  std::vector<ElementEmitter::Access> accesses;
  llvm::SmallVector<Value> inputPointers, resultPointers;

  /// Whether every reduction is a loop of the nest.
  bool regular() const { return !plan.irregular && inlineReductions == 0; }
};

class RehearsalEmitter : NestSpace {
public:
  using NestSpace::NestSpace;

  void run() {
    int64_t n = plan.neighbours();
    ArrayRef<LoopVar> vars = plan.kept;
    loops(n > 1 ? vars.drop_back() : vars, [&] { n > 1 ? storeNeighbours(n) : row(); });
  }
};

} // namespace

/// Rows is the schedule unless more bytes are read contiguously along the last kept dimension than along the
/// last reduced one.
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

/// Chooses Plan::tiled: a variable along which some operand is contiguous that is strided along the innermost
/// variable.
static int chooseTiled(const Plan &plan, ArrayRef<ElementEmitter::Access> accesses) {
  constexpr int64_t least = 8;
  if (plan.form != LoopForm::Pointwise || plan.kept.size() < 2 || plan.kept.back().extent < least)
    return -1;
  SymbolId inner = plan.kept.back().factors.back();
  for (const auto &access : accesses) {
    if (access.isStore || std::abs(access.linear.coefficient(inner)) <= 1)
      continue;
    for (int i = plan.kept.size() - 2; i >= 0; --i)
      if (plan.kept[i].extent >= least &&
          std::abs(access.linear.coefficient(plan.kept[i].factors.back())) == 1)
        return i;
  }
  return -1;
}

/// Chooses Plan::cuts. A loop that walks several factors as one, or computes neighbours together, is not cut;
/// nor is one that would fall into more parts than a kernel should have loops.
static llvm::SmallVector<int64_t> chooseCuts(const Plan &plan, ArrayRef<std::pair<SymbolId, int64_t>> cuts) {
  constexpr size_t most = 128;
  if (plan.form != LoopForm::Pointwise || plan.tiled >= 0 || plan.neighbours() > 1 || plan.kept.empty() || plan.kept.back().factors.size() != 1)
    return {};
  llvm::SmallVector<int64_t> chosen;
  for (auto [symbol, at] : cuts)
    if (symbol == plan.kept.back().factors[0])
      chosen.push_back(at);
  llvm::sort(chosen);
  chosen.erase(llvm::unique(chosen), chosen.end());
  return chosen.size() < most ? chosen : llvm::SmallVector<int64_t>();
}

static FailureOr<Rehearsal> rehearse(kernel::DispatchOp dispatch, bool diagnose) {
  MLIRContext *context = dispatch.getContext();
  context->loadDialect<arith::ArithDialect, math::MathDialect, scf::SCFDialect, LLVM::LLVMDialect>();
  FailureOr<Plan> planned = planDispatch(dispatch, diagnose);
  if (failed(planned))
    return failure();
  Rehearsal done;
  done.plan = std::move(*planned);
  done.scratch = ModuleOp::create(dispatch.getLoc());
  Plan &plan = done.plan;

  // The function has a pointer for each input, then one for each result.
  Block &body = dispatch.getBody().front();
  ValueRange yielded = body.getTerminator()->getOperands();
  size_t inputs = body.getNumArguments();
  OpBuilder b(context);
  b.setInsertionPointToEnd(done.scratch->getBody());
  llvm::SmallVector<Type> pointers(inputs + yielded.size(), LLVM::LLVMPointerType::get(context));
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), pointers);
  Block *entry = LLVM::LLVMFuncOp::create(b, dispatch.getLoc(), "rehearsal", type).addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  LLVM::ReturnOp::create(b, dispatch.getLoc(), ValueRange{});

  ElementEmitter e(b, dispatch.getLoc(), *done.scratch);
  e.b.setInsertionPoint(entry->getTerminator());
  e.recording = true;
  for (BlockArgument argument : body.getArguments()) {
    done.inputPointers.push_back(entry->getArgument(argument.getArgNumber()));
    e.bindBuffer(argument, {done.inputPointers.back(), cast<RankedTensorType>(argument.getType()), {}, {}});
  }
  llvm::SmallVector<Buffer> results;
  for (auto [r, input] : llvm::enumerate(dispatch.inPlaceInputs())) {
    done.resultPointers.push_back(entry->getArgument(input >= 0 ? input : inputs + r));
    results.push_back({done.resultPointers.back(), cast<RankedTensorType>(yielded[r].getType()), {}, {}});
  }
  if (plan.sliced())
    emitSlices(plan, dispatch, results, e, e.i64(0), e.i64(1));
  else
    RehearsalEmitter(plan, dispatch, results, e).run();
  if (e.failed())
    return failure();

  done.inlineReductions = e.inlineReductions;
  done.accesses = std::move(e.accesses);
  if (!plan.sliced()) {
    plan.mergeLoops(e.forms);
    plan.schedule = chooseSchedule(plan, done.accesses);
    plan.tiled = chooseTiled(plan, done.accesses);
    plan.cuts = chooseCuts(plan, e.cuts);
  }
  return done;
}

/// Whether a buffer of one type can hold a value of the other: they have as many elements of the same size.
static bool fits(Type input, Type result) {
  auto from = cast<RankedTensorType>(input), to = cast<RankedTensorType>(result);
  auto bits = [](RankedTensorType tensor) {
    return ElementEmitter::storageType(tensor.getElementType()).getIntOrFloatBitWidth();
  };
  return bits(from) == bits(to) && from.getNumElements() == to.getNumElements();
}

/// A result may take over an input if all reads of the input are at the index at which the result is written.
static Reuses reusesOf(const Rehearsal &rehearsal, kernel::DispatchOp dispatch) {
  Reuses reuses(dispatch.getNumResults());
  if (!rehearsal.regular() || rehearsal.plan.form == LoopForm::Special)
    return reuses;
  for (auto [r, pointer] : llvm::enumerate(rehearsal.resultPointers)) {
    const Index *written = nullptr;
    for (const auto &access : rehearsal.accesses)
      if (access.isStore && access.pointer == pointer)
        written = &access.linear;
    for (auto [i, input] : llvm::enumerate(rehearsal.inputPointers))
      if (written && fits(dispatch.getInputs()[i].getType(), dispatch.getResultTypes()[r]) &&
          llvm::all_of(rehearsal.accesses, [&](const ElementEmitter::Access &access) {
            return access.pointer != input || access.linear == *written;
          }))
        reuses[r].push_back(int64_t(i));
  }
  return reuses;
}

FailureOr<PlannedLoops> mpc::planLoopsAndReuses(kernel::DispatchOp dispatch, bool diagnose) {
  FailureOr<Rehearsal> rehearsal = rehearse(dispatch, diagnose);
  if (failed(rehearsal))
    return failure();
  Reuses reuses = reusesOf(*rehearsal, dispatch);
  return PlannedLoops{std::move(rehearsal->plan), std::move(reuses)};
}

FailureOr<Plan> mpc::planLoops(kernel::DispatchOp dispatch, bool diagnose) {
  FailureOr<Rehearsal> rehearsal = rehearse(dispatch, diagnose);
  if (failed(rehearsal))
    return failure();
  return std::move(rehearsal->plan);
}

//===-- What fusion and memory planning ask --------------------------------------------------===//

std::optional<LoopForm> mpc::classify(kernel::DispatchOp dispatch) {
  FailureOr<Rehearsal> rehearsal = rehearse(dispatch, /*diagnose=*/false);
  if (failed(rehearsal) || !rehearsal->regular())
    return std::nullopt;
  return rehearsal->plan.form;
}

Reuses mpc::reusableInputs(kernel::DispatchOp dispatch) {
  FailureOr<PlannedLoops> planned = planLoopsAndReuses(dispatch, /*diagnose=*/false);
  return succeeded(planned) ? std::move(planned->reuses) : Reuses(dispatch.getNumResults());
}
