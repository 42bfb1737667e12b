//===- Tuning.cpp - schedules by measurement ----------------------------------------------------===//
#include "passes/Lowering/HeroToGpu/Tuning.h"
#include "passes/Lowering/HeroToGpu/ScheduleText.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

/// Null where the tuning has nothing for the problem.
static const std::vector<Tuning::Measured> *measurementsOf(const std::string &problem, const Tuning *tuning) {
  if (!tuning)
    return nullptr;
  auto found = tuning->problems.find(problem);
  return found == tuning->problems.end() ? nullptr : &found->second;
}

void mpc::hero::assignSchedules(ModuleOp module, const GpuArch &arch, const Tuning *tuning) {
  Builder b(module.getContext());
  llvm::StringSet<> seen; // problems
  int stale = 0, found = 0;
  std::string firstStale;
  module.walk([&](kernel::DispatchOp dispatch) {
    if (!dispatch.getLibrary())
      return;
    ScopedDiagnosticHandler silent(module.getContext(), [](Diagnostic &) { return success(); });
    FailureOr<Problem> problem = describeHero(dispatch);
    if (failed(problem) || tilesFor(*problem, arch).empty())
      return;
    std::string key = keyOf(*problem).text();
    bool isNew = seen.insert(key).second;
    Schedule schedule = chooseSchedule(*problem, arch);
    if (const auto *measurements = measurementsOf(key, tuning)) {
      ++found;
      llvm::SmallVector<Schedule> candidates = schedulesFor(*problem, arch);
      const Schedule *fastest = nullptr;
      for (const Tuning::Measured &measured : *measurements) {
        const Schedule *candidate = findSchedule(measured.schedule, candidates);
        if (!fastest)
          fastest = candidate;
        if (!candidate && isNew && stale++ == 0)
          firstStale = "'" + measured.schedule + "' of '" + key + "'";
      }
      if (fastest)
        schedule = *fastest;
    }
    dispatch->setAttr(scheduleAttr, b.getStringAttr(textOf(schedule)));
    if (int64_t bytes = scratchBytes(*problem, schedule))
      dispatch.setScratchBytes(bytes);
  });
  if (tuning && tuning->arch == arch.name && found == 0 && !seen.empty()) {
    InFlightDiagnostic warning = emitWarning(NameLoc::get(b.getStringAttr(tuning->file)));
    warning << "none of the measured problems is one of this program";
    warning.attachNote() << "hint: tune the same model with the same --batch, --precision and --opt-level";
  }
  if (stale > 0) {
    InFlightDiagnostic warning = emitWarning(NameLoc::get(b.getStringAttr(tuning->file)));
    warning << stale << " measured schedules are not known any more, the first: " << firstStale;
    warning.attachNote() << "hint: measure again with a tuner of this version (--emit=tuner)";
  }
}

PlannedHero mpc::hero::planOf(kernel::DispatchOp dispatch, const GpuArch &arch, const Tuning *tuning) {
  Problem problem = *describeHero(dispatch);
  Schedule schedule = chooseSchedule(problem, arch);
  PlannedHero plan{keyOf(problem).text(), textOf(schedule), estimate(problem, schedule, arch),
                   rooflineOf(problem, arch), false};
  if (const auto *measurements = measurementsOf(plan.problem, tuning))
    plan.measured = llvm::any_of(*measurements, [&](const auto &m) { return m.schedule == plan.schedule; });
  return plan;
}
