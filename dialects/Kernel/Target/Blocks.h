//===- Blocks.h - how large the pieces are that loops are divided into -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_TARGET_BLOCKS_H
#define MPC_KERNEL_TARGET_BLOCKS_H
#include <cstdint>
#include <string>

namespace mpc {

/// Pieces of loops on the host. Kernels are shared by all machines, so these numbers fit the largest one.
struct HostBlocks {
  int64_t grid = 64;       ///< as many slices as the threads of a large machine need to share the work evenly
  int64_t elements = 1024; ///< the elements of a slice of one long loop: 4 KiB of f32, many vector iterations
  int64_t tile = 16; ///< the side of a transpose's tiles: one cache line of f32, so that 16 lines of the operand serve
                     ///< a whole tile
  /// The columns that one slice of a column reduction or of a scatter holds: several cache lines of a row, but few
  /// enough sums for registers. Blocks are half as wide where there would be fewer than `columnBlocks` of them, too few
  /// for two threads to share.
  int64_t columns = 64, columnBlocks = 4;
  int64_t chain =
      512; ///< the most additions into one f32 sum before it is added to a total; this bounds the error of long sums
};
inline constexpr HostBlocks hostBlocks;

/// The threads that run in lockstep on every GPU, and the most threads of a block. Source: CUDA C++ Programming Guide
/// 12.8, "Technical Specifications per Compute Capability" (table 30).
inline constexpr int64_t warpThreads = 32, mostBlockThreads = 1024;
/// A multiprocessor hands out registers to a warp in multiples of so many. Source: CUDA C++ Programming Guide 12.8,
/// "Hardware Multithreading".
inline constexpr int64_t warpRegisterUnit = 256;
/// Returns whether a block may have so many threads. They must be whole warps, because no kernel masks threads out.
constexpr bool isBlockSize(int64_t threads) {
  return threads >= warpThreads && threads <= mostBlockThreads && threads % warpThreads == 0;
}
/// What isBlockSize asks for, for messages: "32 to 1024 threads, a multiple of 32".
std::string blockSizes();
/// The threads of a block where nothing else decides. A few such blocks fill a multiprocessor's 1024 to 2048 threads,
/// if their registers allow.
inline constexpr int64_t blockThreads = 256;

/// The alignment in bytes of a piece of shared memory that asks for no other (`kernel.shared`): that of the widest
/// access.
inline constexpr int64_t sharedAlignment = 16;

/// Returns how many elements lie between the rows of a block's square tile in shared memory: with one more element than
/// the tile's side, walking it in either direction never meets a bank twice, whatever the size of elements.
constexpr int64_t tilePitch(int64_t side) { return side + 1; }

/// Pieces of loops on a GPU; what differs between GPUs is in GpuArch.h.
struct GpuBlocks {
  int64_t vectorBytes = 16;                ///< the most bytes that one access moves
  int64_t sectorBytes = 32;                ///< the fewest bytes that an access to memory transfers
  int64_t neighbours = 8;                  ///< the most neighbours that a thread takes
  int64_t strip = 4;                       ///< the most rows in which a thread takes them, where rows share operands
  int64_t windowStrip = 7;                 ///< the same where windows overlap: maps have 7, 14, 28 or 56 places
  int64_t stripBlocks = 8;                 ///< the blocks that each multiprocessor must still get then
  int64_t rows = 4;                        ///< the warps of a block of short rows: each computes a row or several
  int64_t pieces = 4;                      ///< the most pieces of a row that a thread keeps in registers
  int64_t unrolledOps = 1500;              ///< the most ops that unrolling them may make
  int64_t walkedOps = 640;                 ///< the same where a loop goes through more pieces
  int64_t rowThreads = mostBlockThreads;   ///< the most threads of a row
  int64_t memberRowThreads = blockThreads; ///< the same in a batch, whose members have blocks of one size
  int64_t tile = 32;                       ///< the side of a transpose's tiles
  int64_t copyTile = 64; ///< the side of the tiles of values and their transposes, whose pieces are moved in 16 bytes
  /// So many blocks of a scatter fill any GPU, and the results of one have so many bytes at most.
  int64_t scatterBlocks = 512, scatterBytes = 32768;
  int64_t columnBlocks =
      2; ///< where a multiprocessor would get fewer blocks than this, those of a column reduction become narrower
};
inline constexpr GpuBlocks gpuBlocks;

} // namespace mpc
#endif
