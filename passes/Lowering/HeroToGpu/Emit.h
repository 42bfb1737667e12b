//===- Emit.h - a hero by a given schedule ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_HEROTOGPU_EMIT_H
#define MPC_LOWERING_HEROTOGPU_EMIT_H
#include "passes/Lowering/HeroToGpu/HeroToGpu.h"
#include "passes/Lowering/Schedule/Schedule.h"

namespace mpc::hero {

/// Does what emitGpuHero does, with a given schedule, whose tile is one of `tilesFor`. Tests use it for tiles
/// that small problems do not get.
mlir::FailureOr<llvm::SmallVector<kernel::LaunchAttr>> emitScheduled(const Problem &problem, mlir::ModuleOp module,
                                                                     llvm::StringRef symbol, const Schedule &schedule);

} // namespace mpc::hero
#endif
