//===- TunerPipeline.cpp - a model's products and convolutions, each by several schedules ---//
//
// A tuner is a program whose entries are candidates. There is an entry for every distinct problem
// (hero::ProblemKey) of the model's entries, without the ops that are fused behind it, and for each of the
// schedules that the model of expected time ranks first.
//
//===----------------------------------------------------------------------===//
#include "compiler/Package/TuningFile.h"
#include "compiler/Pipeline/Targets.h"
#include "dialects/Graph/IR/Shapes.h"
#include "passes/Lowering/EmitKernels/Passes.h"
#include "passes/Lowering/HeroToGpu/Passes.h"
#include "passes/Lowering/HeroToGpu/ProblemKey.h"
#include "passes/Memory/Passes.h"
#include "passes/Target/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpc;

/// Schedules that are expected to take more than `mostTimes` times as long as the best one are not tried, nor
/// are more than `mostCandidates`: the estimates are not that wrong, and each candidate is a kernel to
/// compile and to ship.
static constexpr double mostTimes = 1.6;
static constexpr size_t mostCandidates = 10;

namespace {
struct Ranked {
  hero::Schedule schedule;
  double seconds;
};
} // namespace

static SmallVector<Ranked> rank(const hero::Problem &problem, const GpuArch &arch) {
  SmallVector<Ranked> ranked;
  for (const hero::Schedule &schedule : hero::schedulesFor(problem, arch))
    ranked.push_back({schedule, hero::estimate(problem, schedule, arch).seconds(arch)});
  llvm::stable_sort(ranked, [](const Ranked &a, const Ranked &b) { return a.seconds < b.seconds; });
  size_t count = 1;
  while (count < std::min(ranked.size(), mostCandidates) && ranked[count].seconds <= mostTimes * ranked[0].seconds)
    ++count;
  ranked.resize(count);
  return ranked;
}

/// Adds func @NAME(a, b) -> c with the hero in a dispatch of its own.
static void addEntry(OpBuilder &b, const hero::Problem &problem, const std::string &name, const hero::Schedule &schedule) {
  Location loc = problem.hero->getLoc();
  TypeRange inputs = problem.hero->getOperandTypes(), results = problem.hero->getResultTypes();
  auto entry = func::FuncOp::create(b, loc, name, b.getFunctionType(inputs, results));
  entry->setAttr("train.kind", b.getStringAttr("candidate"));
  Block *body = entry.addEntryBlock();
  OpBuilder inner = OpBuilder::atBlockBegin(body);
  auto dispatch = kernel::DispatchOp::create(inner, loc, results, name, body->getArguments());
  dispatch.setLibrary(true);
  dispatch.setScheduleAttr(kernel::ContractionAttr::get(b.getContext(), schedule.contraction()));
  func::ReturnOp::create(inner, loc, dispatch.getResults());
  Block &block = dispatch.getBody().emplaceBlock();
  block.addArguments(inputs, SmallVector<Location>(inputs.size(), loc));
  inner.setInsertionPointToStart(&block);
  Operation *hero = inner.clone(*problem.hero);
  hero->setOperands(block.getArguments());
  kernel::YieldOp::create(inner, loc, hero->getResults());
}

/// Returns the candidates of all problems of a module of dispatches, as entries.
static FailureOr<OwningOpRef<ModuleOp>> candidatesOf(ModuleOp module, const GpuArch &arch, std::vector<TunedProblem> &problems) {
  OwningOpRef<ModuleOp> candidates = ModuleOp::create(module.getLoc());
  OpBuilder b = OpBuilder::atBlockEnd(candidates->getBody());
  llvm::StringSet<> known;
  WalkResult walked = module.walk([&](kernel::DispatchOp dispatch) {
    if (!dispatch.getLibrary() || dispatch.computesNothing())
      return WalkResult::advance();
    FailureOr<hero::Problem> problem = hero::describeHero(dispatch);
    if (failed(problem))
      return WalkResult::interrupt();
    // The runtime cannot draw random 8-bit floats.
    if (graph::isFloat8(graph::elementOf(problem->a.tensor)))
      return WalkResult::advance();
    std::string key = hero::keyOf(*problem).text();
    if (problem->k() == 0 || !known.insert(key).second)
      return WalkResult::advance();
    hero::Roofline roofline = hero::rooflineOf(*problem, arch);
    TunedProblem &tuned = problems.emplace_back(TunedProblem{key, dispatch.getName().str(), roofline.flops, roofline.seconds()});
    for (const Ranked &candidate : rank(*problem, arch)) {
      std::string name = ("p" + Twine(problems.size() - 1) + ".c" + Twine(tuned.candidates.size())).str();
      addEntry(b, *problem, name, candidate.schedule);
      tuned.candidates.push_back({name, candidate.schedule.contraction().text(), candidate.seconds});
    }
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  return candidates;
}

FailureOr<CompiledProgram> mpc::compileTuner(ModuleOp module, ArrayRef<GpuOptions> gpus, StringRef modelName) {
  CompiledProgram program;
  std::vector<TargetPlan> plans;
  std::map<std::string, std::vector<TunedProblem>> problems;
  for (const GpuOptions &gpu : gpus) {
    OwningOpRef<ModuleOp> clone(module.clone());
    std::vector<TunedProblem> &own = problems[gpu.arch->name.str()];
    auto formDispatches = [&](OpPassManager &manager, StageMark mark) { buildGpuDispatchPipeline(manager, gpu, mark); };
    if (failed(runPipeline(*clone, gpu.arch->name, {}, formDispatches)))
      return failure();
    FailureOr<OwningOpRef<ModuleOp>> candidates = candidatesOf(*clone, *gpu.arch, own);
    auto emitCandidates = [&](OpPassManager &manager, StageMark) {
      manager.addPass(createSetTargetPass({.name = gpu.arch->name.str()}));
      manager.addPass(createSchedulePass(nullptr)); // finds the scratch of the candidates' schedules
      manager.addPass(memory::createPlanArenaPass());
      manager.addPass(memory::createVerifyArenaPass());
      manager.addPass(createEmitKernelsPass());
    };
    if (failed(candidates) || failed(runPipeline(**candidates, gpu.arch->name, {}, emitCandidates)))
      return failure();
    FailureOr<TargetPlan> plan = packageForGpu(std::move(*candidates), gpu, program, {});
    if (failed(plan))
      return failure();
    plans.push_back(std::move(*plan));
  }
  // The module has no variables and no steps.
  OwningOpRef<ModuleOp> empty = ModuleOp::create(module.getLoc());
  FailureOr<Manifest> manifest = buildManifest(*empty, {.model = modelName.str()}, plans);
  if (failed(manifest))
    return failure();
  program.sections["manifest.json"] = std::move(manifest->json);
  program.sections["data"] = std::move(manifest->data);
  program.sections["tuner.json"] = tunerSection(problems);
  return program;
}
