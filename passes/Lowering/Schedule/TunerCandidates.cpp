//===- TunerCandidates.cpp - mpc-tuner-candidates ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/Schedule/Model.h"
#include "passes/Lowering/Schedule/Passes.h"
#include "passes/Lowering/Schedule/ProblemKey.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

namespace mpc {
#define GEN_PASS_DEF_TUNERCANDIDATESPASS
#include "passes/Lowering/Schedule/Passes.h.inc"
} // namespace mpc

/// Schedules that are expected to take more than `mostTimes` times as long as the best one are not tried, nor
/// are more than `mostCandidates`: the estimates are not that wrong, and each candidate is a kernel to
/// compile and to ship.
static constexpr double mostTimes = 1.6;
static constexpr size_t mostCandidates = 10;

namespace {
struct Ranked {
  Schedule schedule;
  double seconds;
};
} // namespace

static SmallVector<Ranked> rank(const Problem &problem, const GpuArch &arch) {
  SmallVector<Ranked> ranked;
  for (const Schedule &schedule : schedulesFor(problem, arch))
    ranked.push_back({schedule, estimate(problem, schedule, arch).seconds(arch)});
  llvm::stable_sort(ranked, [](const Ranked &a, const Ranked &b) { return a.seconds < b.seconds; });
  size_t count = 0;
  while (count < std::min(ranked.size(), mostCandidates) && ranked[count].seconds <= mostTimes * ranked[0].seconds)
    ++count;
  ranked.truncate(count);
  return ranked;
}

/// The ops of a dispatch that decide its problem, in their order: the hero, and the sums of columns with what they
/// are computed from.
static SmallVector<Operation *> opsOfProblem(Problem &problem) {
  SmallPtrSet<Operation *, 8> needed = {problem.hero};
  for (const kernel::ColumnSum &sum : problem.columnSums)
    needed.insert(sum.op);
  SmallVector<Operation *> ops;
  for (Operation &op : llvm::reverse(problem.dispatch.getBody().front()))
    if (needed.contains(&op)) {
      ops.push_back(&op);
      for (Value operand : op.getOperands())
        if (Operation *producer = operand.getDefiningOp())
          needed.insert(producer);
    }
  std::reverse(ops.begin(), ops.end());
  return ops;
}

/// Adds func @NAME(a, b, ...) -> (c, sums...) with these ops in a dispatch of its own, which has the name of the
/// model's dispatch. The product comes first and is always there, for a tuner compares the first results of a problem's
/// candidates; column sums may differ in their last bits, since a schedule decides the order of the additions.
static void addEntry(OpBuilder &b, Problem &problem, const Twine &name, const Schedule &schedule) {
  Location loc = problem.hero->getLoc();
  SmallVector<Operation *> ops = opsOfProblem(problem);
  SmallVector<Value> read(problem.hero->getOperands()), yielded(problem.hero->getResults());
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (isa<BlockArgument>(operand) && !llvm::is_contained(read, operand))
        read.push_back(operand);
  for (const kernel::ColumnSum &sum : problem.columnSums)
    llvm::append_range(yielded, sum.op->getResults());
  TypeRange inputs = ValueRange(read).getTypes(), results = ValueRange(yielded).getTypes();
  auto entry = func::FuncOp::create(b, loc, name.str(), b.getFunctionType(inputs, results));
  entry->setAttr("train.kind", b.getStringAttr("candidate"));
  Block *body = entry.addEntryBlock();
  OpBuilder inner = OpBuilder::atBlockBegin(body);
  auto dispatch = kernel::DispatchOp::create(inner, loc, results, kernel::Form::Contraction, problem.dispatch.getName(),
                                             body->getArguments());
  dispatch.setScheduleAttr(kernel::ContractionAttr::get(b.getContext(), schedule.contraction()));
  func::ReturnOp::create(inner, loc, dispatch.getResults());
  Block &block = dispatch.getBody().emplaceBlock();
  block.addArguments(inputs, SmallVector<Location>(inputs.size(), loc));
  inner.setInsertionPointToStart(&block);
  IRMapping copies;
  copies.map(read, block.getArguments());
  for (Operation *op : ops) {
    Operation *copy = inner.clone(*op, copies);
    if (op == problem.hero) // each factor is an input of its own, although the model may multiply a tensor by itself
      copy->setOperands(block.getArguments().take_front(copy->getNumOperands()));
  }
  kernel::YieldOp::create(inner, loc, llvm::map_to_vector(yielded, [&](Value v) { return copies.lookup(v); }));
}

namespace {
struct TunerCandidates : mpc::impl::TunerCandidatesPassBase<TunerCandidates> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    const GpuArch *gpu = kernel::gpuOf(module);
    if (!gpu) {
      (void)emitErrorWithHint(module.getLoc(), "a tuner measures GPU kernels, and this module is for no GPU",
                              "run mpc-set-target with the name of a GPU first");
      return signalPassFailure();
    }
    SmallVector<Operation *> model;
    for (Operation &op : *module.getBody())
      model.push_back(&op);
    OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
    llvm::StringSet<> known; // keys of problems
    int64_t problems = 0;
    auto addCandidates = [&](kernel::DispatchOp dispatch) -> WalkResult {
      if (!dispatch.isContraction() || dispatch.computesNothing())
        return WalkResult::advance();
      FailureOr<Problem> problem = describeHero(dispatch);
      if (failed(problem))
        return WalkResult::interrupt();
      // The runtime cannot draw random 8-bit floats.
      if (problem->hasFloat8() || problem->k() == 0 || !known.insert(keyOf(*problem).text()).second)
        return WalkResult::advance();
      SmallVector<Ranked> candidates = rank(*problem, *gpu);
      for (auto [i, candidate] : llvm::enumerate(candidates))
        addEntry(b, *problem, "p" + Twine(problems) + ".c" + Twine(i), candidate.schedule);
      problems += !candidates.empty();
      numCandidates += candidates.size();
      return WalkResult::advance();
    };
    for (Operation *op : model)
      if (op->walk(addCandidates).wasInterrupted())
        return signalPassFailure();
    for (Operation *op : model)
      op->erase();
    // The other attributes, metrics for example, are about the model.
    module->setAttrs(
        ArrayRef(NamedAttribute(b.getStringAttr(kernel::TargetAttr::name), kernel::TargetAttr::of(module))));
    numProblems += problems;
  }
};
} // namespace
