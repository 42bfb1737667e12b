//===- Tuning.h - schedules by measurement ------------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_TUNING_H
#define MPC_LOWERING_HEROTOGPU_TUNING_H
#include "passes/Lowering/HeroToGpu/Model.h"
#include <map>

namespace mpc::hero {

/// What candidates took on a GPU.
struct Tuning {
  std::string file; ///< for messages
  std::string gpu;  ///< "NVIDIA H200"
  std::string arch; ///< "sm_90a"
  struct Measured {
    std::string schedule; ///< textOf()
    double microseconds;
  };
  /// By ProblemKey::text(), the fastest first.
  std::map<std::string, std::vector<Measured>> problems;
};

/// A hero as it will run: what --kernel-report prints.
struct PlannedHero {
  std::string problem, schedule; ///< as text
  Estimate estimate;
  Roofline roofline;
  bool measured; ///< the schedule is a tuning's
};
PlannedHero planOf(kernel::DispatchOp dispatch, const GpuArch &arch, const Tuning *tuning);

/// Decides the schedule of every library dispatch: `schedule` names it, and `scratch_bytes` is what it takes.
/// The fastest measured one that is still a candidate wins; problems that the tuning (which may be null) does
/// not know get the least estimate. Warns once where measured schedules are no candidates any more.
/// Dispatches without a describable hero stay as they are: emitGpuHero says why.
void assignSchedules(mlir::ModuleOp module, const GpuArch &arch, const Tuning *tuning);

} // namespace mpc::hero
#endif
