//===- Mma.h - sums of products by the tensor cores ---------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_MMA_H
#define MPC_LOWERING_HEROTOGPU_MMA_H
#include "passes/Lowering/HeroToGpu/Gather.h"
#include "passes/Lowering/HeroToGpu/Schedule.h"
#include "passes/Lowering/HeroToGpu/Sink.h"

namespace mpc::hero {

/// Emits the share of one thread in a block's tile of C, for the tiles of k that `place` says; f16 or bf16.
/// The sink gets drainNeighbours sums at once.
void emitMma(Code c, const Problem &problem, const Tile &tile, const GpuArch &arch, mlir::Value a,
             mlir::Value b, const BlockPlace &place, Sink &sink);

/// Whether the operand's tiles can be copied by copy_async, else they pass through registers.
bool copiesAsync(const Operand &operand, const GpuArch &arch);
/// Bytes of shared memory of a block.
int64_t mmaSharedBytes(const Tile &tile);

} // namespace mpc::hero
#endif
