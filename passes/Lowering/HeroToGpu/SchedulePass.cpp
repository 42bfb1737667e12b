//===- SchedulePass.cpp - mpc-schedule ----------------------------------------------===//
#include "passes/Lowering/HeroToGpu/Passes.h"
#include "passes/Lowering/HeroToGpu/Tuning.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "passes/Lowering/HeroToGpu/Passes.h.inc"
} // namespace mpc

namespace {
struct SchedulePass : mpc::impl::SchedulePassBase<SchedulePass> {
  SchedulePass() = default;
  explicit SchedulePass(std::shared_ptr<const hero::Tuning> tuning) : tuning(std::move(tuning)) {}

  void runOnOperation() override {
    const GpuArch *gpu = kernel::gpuOf(getOperation());
    if (gpu && failed(hero::assignSchedules(getOperation(), *gpu, tuning.get())))
      signalPassFailure();
  }

  std::shared_ptr<const hero::Tuning> tuning;
};
} // namespace

std::unique_ptr<Pass> mpc::createSchedulePass(std::shared_ptr<const hero::Tuning> tuning) { return std::make_unique<SchedulePass>(std::move(tuning)); }
