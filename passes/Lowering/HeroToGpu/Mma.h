//===- Mma.h - sums of products by the tensor cores ---------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_MMA_H
#define MPC_LOWERING_HEROTOGPU_MMA_H
#include "passes/Lowering/HeroToGpu/Gather.h"
#include "passes/Lowering/HeroToGpu/Schedule.h"
#include "passes/Lowering/HeroToGpu/Sink.h"

namespace mpc::hero {

/// Emits the code of one thread for its share of a block's tile of C, over the tiles of k that `place` names;
/// operands are f16 or bf16. The sink gets drainNeighbours sums at once.
void emitMma(Code c, const Problem &problem, const Tile &tile, const GpuArch &arch, mlir::Value a,
             mlir::Value b, const BlockPlace &place, Sink &sink);

/// Whether copy_async can copy the operand's tiles; otherwise they pass through registers.
bool copiesAsync(const Operand &operand, const GpuArch &arch);
/// The shared memory of a block, in bytes.
int64_t mmaSharedBytes(const Tile &tile);

} // namespace mpc::hero
#endif
