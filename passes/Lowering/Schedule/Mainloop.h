//===- Mainloop.h - what a schedule has to know of a mainloop ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A mainloop is a way in which the threads of a block multiply and add: there is one row of facts for each
// kernel::Mainloop. Whoever chooses or prices a schedule asks the row and never compares mainloops; what emits
// the code of a mainloop is in a table of its own (passes/Lowering/HeroToGpu/MainKernel.h).
//
//===------------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_SCHEDULE_MAINLOOP_H
#define MPC_LOWERING_SCHEDULE_MAINLOOP_H
#include "dialects/Kernel/Target/GpuArch.h"
#include "passes/Lowering/Schedule/Problem.h"
#include "passes/Lowering/Schedule/Tile.h"

namespace mpc::hero {

/// The axes of clusters where every block is alone.
inline llvm::SmallVector<Axis, 2> noClusters(const Problem &, const Tile &) { return {}; }

struct MainloopFacts {
  /// The threads that compute a part of the tile together, and those of a block that only load.
  int partThreads, producerThreads;
  /// Whether a launch starts as many blocks as the GPU holds at once, each of which computes one work item after
  /// the other. Otherwise there is a block for each work item.
  bool persistent;
  /// Whether the latency of its copies can limit it. It cannot where many blocks have copies under way.
  bool waitsForCopies;
  /// Whether problems get its tiles only where they have no others.
  bool fallback;
  /// The multiply-adds that a multiprocessor does in a clock at most; 0 where the architecture lacks the
  /// instructions for factors of the problem's types.
  double (*multiplyAdds)(const Problem &problem, const GpuArch &arch);
  /// The tiles that fit the problem, if multiplyAdds is not 0; those that are best for large problems come first.
  llvm::SmallVector<Tile> (*tiles)(const Problem &problem, const GpuArch &arch);
  /// The shared memory of a block, in bytes (SharedBytes.h).
  int64_t (*sharedBytes)(const Problem &problem, const Tile &tile);
  /// The axes along which the two blocks of a cluster can be neighbours (Feed.h); empty where blocks are alone. Asked
  /// only where the architecture has clusters.
  llvm::SmallVector<Axis, 2> (*clusterAxes)(const Problem &problem, const Tile &tile) = noClusters;
};

/// The rows, of which there is one in a file of its own for each mainloop.
extern const MainloopFacts simtFacts, mmaFacts, wgmmaFacts;

const MainloopFacts &factsOf(Mainloop mainloop);

} // namespace mpc::hero
#endif
