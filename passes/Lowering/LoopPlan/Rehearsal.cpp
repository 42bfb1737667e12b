//===- Rehearsal.cpp - dry runs of emission ------------------------------------===//
//
// A rehearsal emits the dispatch into a module that is thrown away, with every factor of the space in a loop
// of its own, and records which addresses are read and written and which index forms become code. This record
// decides which loops are merged and which way the rows are walked.
//
//===----------------------------------------------------------------------===//
#include "passes/Lowering/LoopPlan/NestSpace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mpc;

namespace {

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

/// Rows are walked one by one unless more bytes are read contiguously along the last kept dimension than along the
/// last reduced one.
static Walk chooseWalk(const Plan &plan, ArrayRef<ElementEmitter::Access> accesses) {
  if (plan.kept.empty() || plan.reduced.empty())
    return Walk::Rows;
  SymbolId column = plan.kept.back().factors.back(), row = plan.reduced.back().factors.back();
  int64_t alongColumn = 0, alongRow = 0;
  for (const auto &access : accesses) {
    if (access.linear.coefficient(column) == 1 && access.linear.coefficient(row) != 0)
      alongColumn += access.bytes;
    if (access.linear.coefficient(row) == 1)
      alongRow += access.bytes;
  }
  return alongColumn > alongRow ? Walk::Columns : Walk::Rows;
}

/// Chooses Plan::tiled: a variable along which some operand is contiguous that is strided along the innermost variable.
static int chooseTiled(const Plan &plan, ArrayRef<ElementEmitter::Access> accesses) {
  constexpr int64_t least = 8;
  if (plan.form != kernel::Form::Pointwise || plan.kept.size() < 2 || plan.kept.back().extent < least)
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

/// Chooses Plan::cuts. A loop that walks several factors as one, or computes neighbours together, is not cut;
/// nor is one that would fall into more parts than a kernel should have loops.
static llvm::SmallVector<int64_t> chooseCuts(const Plan &plan, ArrayRef<std::pair<SymbolId, int64_t>> cuts) {
  constexpr size_t most = 128;
  if (plan.form != kernel::Form::Pointwise || plan.tiled >= 0 || plan.neighbours() > 1 || plan.kept.empty() ||
      plan.kept.back().factors.size() != 1)
    return {};
  llvm::SmallVector<int64_t> chosen;
  for (auto [symbol, at] : cuts)
    if (symbol == plan.kept.back().factors[0])
      chosen.push_back(at);
  llvm::sort(chosen);
  chosen.erase(llvm::unique(chosen), chosen.end());
  return chosen.size() < most ? chosen : llvm::SmallVector<int64_t>();
}

FailureOr<Plan> mpc::planLoops(kernel::DispatchOp dispatch) {
  MLIRContext *context = dispatch.getContext();
  context->loadDialect<arith::ArithDialect, math::MathDialect, scf::SCFDialect, LLVM::LLVMDialect>();
  FailureOr<Plan> plan = planDispatch(dispatch);
  if (failed(plan) || !plan->walksSpace())
    return plan;
  OwningOpRef<ModuleOp> scratch = ModuleOp::create(dispatch.getLoc());

  // The function has a pointer for each input, then one for each result.
  Block &body = dispatch.getBody().front();
  ValueRange yielded = body.getTerminator()->getOperands();
  size_t inputs = body.getNumArguments();
  OpBuilder b(context);
  b.setInsertionPointToEnd(scratch->getBody());
  llvm::SmallVector<Type> pointers(inputs + yielded.size(), LLVM::LLVMPointerType::get(context));
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), pointers);
  Block *entry = LLVM::LLVMFuncOp::create(b, dispatch.getLoc(), "rehearsal", type).addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  LLVM::ReturnOp::create(b, dispatch.getLoc(), ValueRange{});

  ElementEmitter e(b, dispatch.getLoc(), *scratch);
  e.b.setInsertionPoint(entry->getTerminator());
  e.recording = true;
  for (BlockArgument argument : body.getArguments())
    e.bindBuffer(argument,
                 {entry->getArgument(argument.getArgNumber()), cast<RankedTensorType>(argument.getType()), {}, {}});
  llvm::SmallVector<Buffer> results;
  for (auto [r, v] : llvm::enumerate(yielded))
    results.push_back({entry->getArgument(inputs + r), cast<RankedTensorType>(v.getType()), {}, {}});
  RehearsalEmitter(*plan, dispatch, results, e).run();
  if (e.failed())
    return failure();

  plan->mergeLoops(e.forms);
  plan->walk = chooseWalk(*plan, e.accesses);
  plan->tiled = chooseTiled(*plan, e.accesses);
  plan->cuts = chooseCuts(*plan, e.cuts);
  return plan;
}
