//===- TunerCandidates.cpp - mpc-tuner-candidates ----------------------------------------===//
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/HeroToGpu/Model.h"
#include "passes/Lowering/HeroToGpu/Passes.h"
#include "passes/Lowering/HeroToGpu/ProblemKey.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

namespace mpc {
#define GEN_PASS_DEF_TUNERCANDIDATESPASS
#include "passes/Lowering/HeroToGpu/Passes.h.inc"
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

/// Adds func @NAME(a, b) -> c with the hero in a dispatch of its own, which has the name of the model's dispatch.
static void addEntry(OpBuilder &b, Problem &problem, const Twine &name, const Schedule &schedule) {
  Location loc = problem.hero->getLoc();
  TypeRange inputs = problem.hero->getOperandTypes(), results = problem.hero->getResultTypes();
  auto entry = func::FuncOp::create(b, loc, name.str(), b.getFunctionType(inputs, results));
  entry->setAttr("train.kind", b.getStringAttr("candidate"));
  Block *body = entry.addEntryBlock();
  OpBuilder inner = OpBuilder::atBlockBegin(body);
  auto dispatch = kernel::DispatchOp::create(inner, loc, results, kernel::Form::Contraction, problem.dispatch.getName(), body->getArguments());
  dispatch.setScheduleAttr(kernel::ContractionAttr::get(b.getContext(), schedule.contraction()));
  func::ReturnOp::create(inner, loc, dispatch.getResults());
  Block &block = dispatch.getBody().emplaceBlock();
  block.addArguments(inputs, SmallVector<Location>(inputs.size(), loc));
  inner.setInsertionPointToStart(&block);
  Operation *hero = inner.clone(*problem.hero);
  hero->setOperands(block.getArguments());
  kernel::YieldOp::create(inner, loc, hero->getResults());
}

namespace {
struct TunerCandidates : mpc::impl::TunerCandidatesPassBase<TunerCandidates> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    const GpuArch *gpu = kernel::gpuOf(module);
    if (!gpu) {
      (void)emitErrorWithHint(module.getLoc(), "a tuner measures GPU kernels, and this module is for no GPU", "run mpc-set-target with the name of a GPU first");
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
      if (graph::isFloat8(graph::elementOf(problem->a.tensor)) || problem->k() == 0 || !known.insert(keyOf(*problem).text()).second)
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
    module->setAttrs(ArrayRef(NamedAttribute(b.getStringAttr(kernel::TargetAttr::name), kernel::TargetAttr::of(module))));
    numProblems += problems;
  }
};
} // namespace
