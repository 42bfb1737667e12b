//===- Tuning.cpp - schedules by measurement ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Schedule/Tuning.h"
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/Schedule/AttentionSchedule.h"
#include "passes/Lowering/Schedule/ProblemKey.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

/// Null where the tuning has no measurements of the problem.
static const std::vector<Tuning::Measured> *measurementsOf(const std::string &problem, const Tuning *tuning) {
  if (!tuning)
    return nullptr;
  auto found = tuning->problems.find(problem);
  return found == tuning->problems.end() ? nullptr : &found->second;
}

namespace {
/// Chooses the schedules of one dispatch after the other, and remembers what the tuning lacked.
class Scheduler {
public:
  Scheduler(const GpuArch &arch, const Tuning *tuning) : arch(arch), tuning(tuning) {}
  LogicalResult schedule(kernel::DispatchOp dispatch);
  void warnOfUnusedTuning(MLIRContext *context) const;

private:
  /// Nullopt where none of the problem's measured schedules is a candidate.
  std::optional<Schedule> fastestMeasured(const Problem &problem);

  const GpuArch &arch;
  const Tuning *tuning;
  llvm::StringSet<> seen; ///< problems
  int stale = 0, found = 0;
  std::string firstStale;
};
} // namespace

std::optional<Schedule> Scheduler::fastestMeasured(const Problem &problem) {
  std::string key = keyOf(problem).text();
  bool isNew = seen.insert(key).second;
  const auto *measurements = measurementsOf(key, tuning);
  if (!measurements)
    return std::nullopt;
  ++found;
  llvm::SmallVector<Schedule> candidates = schedulesFor(problem, arch);
  std::optional<Schedule> fastest;
  for (const Tuning::Measured &measured : *measurements) {
    std::optional<kernel::Contraction> numbers = kernel::Contraction::parse(measured.schedule);
    const Schedule *candidate = numbers ? findSchedule(*numbers, candidates) : nullptr;
    if (candidate && !fastest)
      fastest = *candidate;
    if (!candidate && isNew && stale++ == 0)
      firstStale = "'" + measured.schedule + "' of '" + key + "'";
  }
  return fastest;
}

LogicalResult Scheduler::schedule(kernel::DispatchOp dispatch) {
  FailureOr<Problem> problem = failure();
  {
    ScopedDiagnosticHandler silent(dispatch.getContext(), [](Diagnostic &) { return success(); });
    problem = describeHero(dispatch);
  }
  if (failed(problem) || tilesFor(*problem, arch).empty())
    return success();
  FailureOr<Schedule> schedule = failure();
  if (dispatch.getSchedule())
    schedule = scheduleOf(*problem, arch);
  else if (std::optional<Schedule> measured = fastestMeasured(*problem))
    schedule = *measured;
  else
    schedule = fastestSchedule(*problem, arch);
  if (failed(schedule))
    return failure();
  dispatch.setScheduleAttr(kernel::ContractionAttr::get(dispatch.getContext(), schedule->contraction()));
  dispatch.removeScratchBytesAttr();
  if (int64_t bytes = scratchBytes(*problem, *schedule))
    dispatch.setScratchBytes(bytes);
  return success();
}

void Scheduler::warnOfUnusedTuning(MLIRContext *context) const {
  if (!tuning)
    return;
  auto file = NameLoc::get(StringAttr::get(context, tuning->file));
  if (found == 0 && !seen.empty()) {
    InFlightDiagnostic warning = emitWarning(file);
    warning << "none of the measured problems is one of this program";
    warning.attachNote() << "hint: tune the same model with the same --batch, --precision and --opt-level";
  }
  if (stale > 0) {
    InFlightDiagnostic warning = emitWarning(file);
    warning << stale << " measured schedules are not known any more, the first: " << firstStale;
    warning.attachNote() << "hint: measure again with a tuner of this version (--emit=tuner)";
  }
}

LogicalResult mpc::hero::assignSchedules(ModuleOp module, const GpuArch &arch, const Tuning *tuning) {
  if (tuning && tuning->arch != arch.name)
    return emitErrorWithHint(NameLoc::get(StringAttr::get(module.getContext(), tuning->file)),
                             "has schedules of " + tuning->arch + ", and this module is for " + arch.name,
                             "take a file that a tuner for " + arch.name + " wrote (mpc compile --emit=tuner)");
  Scheduler scheduler(arch, tuning);
  WalkResult walked = module.walk([&](kernel::DispatchOp dispatch) {
    LogicalResult assigned = dispatch.isContraction() ? scheduler.schedule(dispatch)
                             : dispatch.isAttention() ? attention::assignSchedule(dispatch, arch)
                                                      : success();
    return failed(assigned) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  scheduler.warnOfUnusedTuning(module.getContext());
  return success();
}

PlannedHero mpc::hero::planOf(kernel::DispatchOp dispatch, const GpuArch &arch, const Tuning *tuning) {
  Problem problem = *describeHero(dispatch);
  Schedule schedule = *scheduleOf(problem, arch);
  PlannedHero plan{keyOf(problem).text(), schedule.contraction().text(), estimate(problem, schedule, arch),
                   rooflineOf(problem, arch), false};
  if (const auto *measurements = measurementsOf(plan.problem, tuning))
    plan.measured = llvm::any_of(*measurements, [&](const auto &m) { return m.schedule == plan.schedule; });
  return plan;
}
