//===- SharedBytes.h - the shared memory of a block ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice of tiles asks whether these numbers fit, and emission lays out shared memory by the same numbers. All are
// bytes unless they say otherwise.
//
//===--------------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_SCHEDULE_SHAREDBYTES_H
#define MPC_LOWERING_SCHEDULE_SHAREDBYTES_H
#include "passes/Lowering/Schedule/Problem.h"
#include "passes/Lowering/Schedule/Tile.h"

namespace mpc::hero {

//===-- Simt ---------------------------------------------------------------------------------===//

/// The elements from one line of a tile to the next: a line has `extent` elements, and some more that spread a
/// column over the banks.
constexpr int simtLine(int extent) { return extent + 4; }
/// The two buffers of an operand whose tile has `extent` rows (columns).
int64_t simtOperandBytes(const Problem &problem, int extent, int tileK);
/// All of a block.
int64_t simtSharedBytes(const Problem &problem, const Tile &tile);

//===-- Tensor cores -------------------------------------------------------------------------===//

/// The columns of sums that a warp drains at once.
constexpr int drainColumns(int columns) { return std::min(columns, 64); }
/// What a warp drains the sums of `columns` columns through: 16 rows of f32.
constexpr int64_t drainBytes(int columns) { return 16 * int64_t(drainColumns(columns)) * 4; }

/// A stage of mma's ring for an operand of 16 bits.
constexpr int64_t mmaStageBytes(int tileOuter, int tileK) { return int64_t(tileOuter) * tileK * 2; }
/// All of a block: the ring, whose memory serves for draining once the mainloop is done.
int64_t mmaSharedBytes(const Tile &tile);

/// The k in a row of a stage of wgmma's ring: the widest swizzle.
inline constexpr int64_t wgmmaRowBytes = 128;
/// All stages of both operands.
constexpr int64_t wgmmaRingBytes(const Tile &tile) { return tile.stages * (tile.m + tile.n) * wgmmaRowBytes; }
/// What a consumer's results leave through: boxes of the tensor memory accelerator, or the drains of its four warps.
inline constexpr int64_t wgmmaOutBytes = 16 * 1024;
static_assert(4 * drainBytes(256) <= wgmmaOutBytes);
/// The mbarriers of a ring: full and empty for each stage.
constexpr int64_t ringBarrierBytes(int stages) { return int64_t(2) * stages * 8; }
/// The mbarriers by which the consumers pass the turn, in ping-pong.
constexpr int64_t turnBytes(const Tile &tile) { return tile.pingPong ? 8 * tile.workers() : 0; }
/// All of a block.
int64_t wgmmaSharedBytes(const Tile &tile);

} // namespace mpc::hero
#endif
