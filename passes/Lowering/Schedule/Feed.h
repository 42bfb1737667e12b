//===- Feed.h - how tiles of operands come into shared memory ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice of tiles asks what the code of each mainloop can load, and emission loads by the same answers.
//
//===------------------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_SCHEDULE_FEED_H
#define MPC_LOWERING_SCHEDULE_FEED_H
#include "dialects/Kernel/Target/GpuArch.h"
#include "passes/Lowering/Schedule/Problem.h"
#include "passes/Lowering/Schedule/Tile.h"

namespace mpc::hero {

/// The feed of an operand as problems are keyed by it (ProblemKey.h): how 128 rows (columns) of 128 bytes along k come
/// into shared memory. "tiled" or "im2col" means by the tensor memory accelerator (Box.h), "gather8" by threads, which
/// copy 8 neighbours at a time.
std::string feedOf(const Operand &operand);

/// Whether copy_async can copy the operand's tiles; otherwise they pass through registers.
bool copiesAsync(const Operand &operand, const GpuArch &arch);

/// Whether wgmma's producer can bring the operands' tiles into shared memory: by tensor map, or by copies of at
/// least 8 bytes, so few for each thread that their addresses fit its registers. For 8-bit floats: whether
/// both operands are contiguous along k, the only order in which wgmma reads them, and come by tensor map.
bool feedsWgmma(const Problem &problem, const Tile &tile);
/// The axes along which the two blocks of a cluster can be neighbours: each block can then load a half of the
/// operand that they share. The axis that shares the larger operand comes first.
llvm::SmallVector<Axis, 2> clusterAxesOf(const Problem &problem, const Tile &tile);

} // namespace mpc::hero
#endif
