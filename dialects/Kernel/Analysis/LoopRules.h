//===- LoopRules.h - which loops each walk has on each target --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_KERNEL_ANALYSIS_LOOPRULES_H
#define MPC_KERNEL_ANALYSIS_LOOPRULES_H
#include "dialects/Kernel/Analysis/Dims.h"
#include "dialects/Kernel/IR/Kernel.h"
#include <optional>

namespace mpc::kernel {

/// The loops that a walk may have on a target.
struct LoopRules {
  /// Which loops have tiles.
  enum class Tiling {
    None,
    Innermost, ///< the innermost loop may have tiles
    Strips,    ///< one of the other loops may have tiles, which divide it: the iterations of one thread
    Sums,      ///< the innermost loop may have tiles, each a block of sums, and so may one reduced loop
    Taps,      ///< the last reduced loop may have tiles, which divide it: the neighbours that a thread adds up together
    Pair,      ///< the two innermost loops have tiles
    Squares,   ///< as Pair; a tile's side is the number of threads in a row of the block
    Matrices,  ///< the loops go over matrices, rows and columns; the latter two have tiles of gpuBlocks.copyTile
  };

  /// The number of neighbours along the innermost dimension that an iteration or a thread may compute.
  enum class Neighbours {
    One,
    Whole,  ///< one, or all iterations of the innermost loop, which then is no loop
    Divisor ///< one, or a number that divides the iterations of the innermost loop
  };

  /// The shapes that a GPU's block of threads may have.
  enum class Threads {
    Any,
    /// A row is one warp, or a power of two of threads below one if the rows fill whole warps; or the block has a
    /// single row of whole warps.
    Warps,
    Powers ///< a row is a power of two of threads, at most a warp
  };

  Tiling tiling = Tiling::None;
  int64_t unshared = 0;   ///< how many of the innermost kept loops are not shared among threads
  bool allShared = false; ///< whether the others are all shared; otherwise any number of the outermost may be
  Neighbours neighbours = Neighbours::One;
  Threads threads = Threads::Any;
  bool mayUnroll = false; ///< whether a thread may keep its pieces of a row in registers
  bool mayCut = false;    ///< whether the innermost loop may be cut where an op's work changes
};

/// Returns the rules of a walk on the host or on GPUs; nullopt where the target does not have the walk.
std::optional<LoopRules> rulesOf(Walk walk, bool onGpu);

/// Returns whether neighbouring iterations of a walk's innermost loop, which ends with dimension `last`, read and write
/// neighbouring elements: the loop ends with the innermost dimension. That is a reduced one where rows are walked, and
/// else a kept one. Iterations of tiles and copies take neighbours by rules of their own, so the answer is no.
bool hasNeighbours(Walk walk, llvm::ArrayRef<Dim> dims, int64_t last);

/// Returns whether a walk goes through dispatches of a form. Scatters have loops of their own.
bool walksForm(Walk walk, Form form);

} // namespace mpc::kernel
#endif
