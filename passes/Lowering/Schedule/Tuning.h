//===- Tuning.h - schedules by measurement ------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_SCHEDULE_TUNING_H
#define MPC_LOWERING_SCHEDULE_TUNING_H
#include "passes/Lowering/Schedule/Model.h"
#include <map>

namespace mpc::hero {

/// What schedules took on a GPU.
struct Tuning {
  std::string file; ///< for messages
  std::string gpu;  ///< "NVIDIA H200"
  std::string arch; ///< "sm_90a"
  struct Measured {
    std::string schedule; ///< kernel::Contraction::text()
    double microseconds;
  };
  /// Keyed by ProblemKey::text(); the fastest schedule comes first.
  std::map<std::string, std::vector<Measured>> problems;
};

/// A hero together with the schedule that it will run by; --kernel-report prints it.
struct PlannedHero {
  std::string problem, schedule; ///< as text
  Estimate estimate;
  Roofline roofline;
  bool measured; ///< whether the tuning has measured this schedule
};
PlannedHero planOf(kernel::DispatchOp dispatch, const GpuArch &arch, const Tuning *tuning);

/// The work of mpc-schedule (Passes.td). The fastest measured schedule that is still a candidate wins; a problem that
/// the tuning (which may be null) does not know gets the schedule of least estimated time. Warns once where measured
/// schedules are no longer candidates. Fails with a diagnostic where the tuning is of another architecture, and at a
/// dispatch that carries a schedule which its problem does not have. Dispatches whose hero cannot be described stay as
/// they are: emitGpuHero reports why.
mlir::LogicalResult assignSchedules(mlir::ModuleOp module, const GpuArch &arch, const Tuning *tuning);

} // namespace mpc::hero
#endif
