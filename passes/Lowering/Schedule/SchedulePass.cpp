//===- SchedulePass.cpp - mpc-schedule ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Graph/IR/Graph.h"
#include "passes/Lowering/Schedule/Passes.h"
#include "passes/Lowering/Schedule/TuningFile.h"

using namespace mlir;
using namespace mpc;

namespace mpc {
#define GEN_PASS_DEF_SCHEDULEPASS
#include "passes/Lowering/Schedule/Passes.h.inc"
} // namespace mpc

namespace {
struct SchedulePass : mpc::impl::SchedulePassBase<SchedulePass> {
  using SchedulePassBase::SchedulePassBase;

  LogicalResult initialize(MLIRContext *context) override {
    if (tune.empty())
      return success();
    FailureOr<hero::Tuning> read = hero::readTuningFile(context, tune);
    if (failed(read))
      return failure();
    tuning = std::make_shared<const hero::Tuning>(std::move(*read));
    return success();
  }

  void runOnOperation() override {
    const GpuArch *gpu = kernel::gpuOf(getOperation());
    if (gpu && failed(hero::assignSchedules(getOperation(), *gpu, tuning.get())))
      signalPassFailure();
  }

  std::shared_ptr<const hero::Tuning> tuning; ///< null without a file
};
} // namespace
