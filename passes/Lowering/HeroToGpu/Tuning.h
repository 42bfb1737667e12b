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
    std::string schedule; ///< kernel::Contraction::text()
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

/// mpc-schedule (Passes.td). The fastest measured schedule that is still a candidate wins; problems that the tuning (which may be null) does not know get the
/// least estimate. Warns once where measured schedules are no candidates any more. Fails with a diagnostic at a dispatch that carries a schedule that it does not
/// have. Dispatches without a describable hero stay as they are: emitGpuHero says why.
mlir::LogicalResult assignSchedules(mlir::ModuleOp module, const GpuArch &arch, const Tuning *tuning);

} // namespace mpc::hero
#endif
