//===- Passes.h - schedules of contractions ------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_PASSES_H
#define MPC_LOWERING_HEROTOGPU_PASSES_H
#include "dialects/Kernel/IR/Kernel.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace mpc {
namespace hero {
struct Tuning;
}
#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "passes/Lowering/HeroToGpu/Passes.h.inc"

/// mpc-schedule that uses the measurements of `tuning`, which may be null.
std::unique_ptr<mlir::Pass> createSchedulePass(std::shared_ptr<const hero::Tuning> tuning);
} // namespace mpc
#endif
