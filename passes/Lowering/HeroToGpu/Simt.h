//===- Simt.h - sums of products by multiply-adds --------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_SIMT_H
#define MPC_LOWERING_HEROTOGPU_SIMT_H
#include "passes/Lowering/HeroToGpu/Gather.h"
#include "passes/Lowering/HeroToGpu/Schedule.h"
#include "passes/Lowering/HeroToGpu/Sink.h"

namespace mpc::hero {

/// The number of sums that emitSimt passes to the sink at once.
inline constexpr int simtNeighbours = 4;

/// Emits the code of one thread for its share of a block's tile of C, over the tiles of k that `place` names.
void emitSimt(Code c, const Problem &problem, const Tile &tile, mlir::Value a, mlir::Value b,
              const BlockPlace &place, Sink &sink);

} // namespace mpc::hero
#endif
