//===- LoopRules.h - which loops each walk has on each target --------------------===//
#ifndef MPC_KERNEL_ANALYSIS_LOOPRULES_H
#define MPC_KERNEL_ANALYSIS_LOOPRULES_H
#include "dialects/Kernel/IR/Kernel.h"

namespace mpc::kernel {

/// What loops there may be in a walk on a target.
struct LoopRules {
  /// Which loops have tiles.
  enum class Tiling {
    None,
    Innermost, ///< the innermost loop may have them
    Sums,      ///< the innermost loop, whose tile is a block of sums, may have them, and the outermost reduced loop
    Pair,      ///< the two innermost loops have them
    Squares,   ///< the same, in tiles whose side is a row of a block's threads
    Matrices,  ///< the loops are those over matrices, rows and columns, the latter two in tiles of gpuBlocks.copyTile
  };

  /// How many neighbours along the innermost dimension an iteration or a thread may compute.
  enum class Neighbours {
    One,
    Whole,  ///< or all iterations of the innermost loop, which then is no loop
    Divisor ///< or as many as divide the innermost loop
  };

  /// What the rows and columns of a GPU's block of threads are.
  enum class Threads {
    Any,
    Warps, ///< a row is a warp, or the only one
    Powers ///< a row is a power of two within a warp
  };

  Tiling tiling = Tiling::None;
  int64_t inside = 0;     ///< how many of the innermost kept loops are not shared among threads
  bool allShared = false; ///< whether all other kept loops are shared, and not only as many as there may be
  Neighbours neighbours = Neighbours::One;
  Threads threads = Threads::Any;
  bool unroll = false, cuts = false; ///< whether there may be these
};

/// Returns the rules of a walk on the host or on GPUs; nullopt where the target does not have the walk.
std::optional<LoopRules> rulesOf(Walk walk, bool onGpu);

/// Returns whether a walk goes through dispatches of a form. Scatters have loops of their own.
bool walks(Walk walk, Form form);

} // namespace mpc::kernel
#endif
