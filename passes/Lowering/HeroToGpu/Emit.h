//===- Emit.h - a hero by a given schedule ----------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_EMIT_H
#define MPC_LOWERING_HEROTOGPU_EMIT_H
#include "passes/Lowering/HeroToGpu/HeroToGpu.h"
#include "passes/Lowering/HeroToGpu/Schedule.h"

namespace mpc::hero {

/// emitGpuHero by this schedule, one of whose tiles `tilesFor` has named; for tests of tiles that small
/// problems do not get.
mlir::FailureOr<llvm::SmallVector<GpuKernel>> emitScheduled(const Problem &problem, mlir::ModuleOp module,
                                                            llvm::StringRef symbol, const GpuArch &arch,
                                                            const Schedule &schedule);

} // namespace mpc::hero
#endif
