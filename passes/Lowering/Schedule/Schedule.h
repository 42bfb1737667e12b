//===- Schedule.h - which tile, how many splits ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LOWERING_SCHEDULE_SCHEDULE_H
#define MPC_LOWERING_SCHEDULE_SCHEDULE_H
#include "passes/Lowering/Schedule/Mainloop.h"

namespace mpc::hero {

struct Schedule {
  Tile tile;
  int64_t splits = 1; ///< the parts into which k is split; separate blocks sum each part
  /// Wgmma: the number of blocks in a cluster, which have neighbouring tiles along `clusterAxis`. They share
  /// the operand of the other axis: each block loads a part of it into the shared memory of all.
  int cluster = 1;
  Axis clusterAxis = Axis::M;

  /// The multiples that m and n are rounded up to.
  int64_t spanM() const { return int64_t(tile.m) * (clusterAxis == Axis::M ? cluster : 1); }
  int64_t spanN() const { return int64_t(tile.n) * (clusterAxis == Axis::N ? cluster : 1); }
  /// The numbers that distinguish this schedule from the problem's other ones.
  kernel::Contraction contraction() const;
};

/// The tiles that fit the problem and the architecture; those that are best for large problems come first.
/// Empty where a product of 8-bit floats cannot be computed.
llvm::SmallVector<Tile> tilesFor(const Problem &problem, const GpuArch &arch);
/// All candidates: every such tile, with the splits of k and the clusters that are possible. No two are the same.
llvm::SmallVector<Schedule> schedulesFor(const Problem &problem, const GpuArch &arch);
/// The candidate with these numbers; null where there is none.
const Schedule *findSchedule(const kernel::Contraction &numbers, llvm::ArrayRef<Schedule> candidates);
/// The schedule of least estimated time (Model.h).
Schedule fastestSchedule(const Problem &problem, const GpuArch &arch);
/// The schedule that the dispatch carries. Fails with a diagnostic where it carries none, or carries one that
/// the problem does not have on this architecture.
mlir::FailureOr<Schedule> scheduleOf(const Problem &problem, const GpuArch &arch);
/// The number of splits that are not empty when `tiles` tiles of k are dealt out to `wanted` splits.
int64_t usefulSplits(int64_t tiles, int64_t wanted);
/// The number of parts in which the rows of C are summed up for column sums.
int64_t rowParts(const Problem &problem, const Schedule &schedule);
/// How the parts of column sums are added up: few by one launch. Many would keep the few blocks of such a launch busy
/// for long, so one launch adds runs of them, of which the last may be shorter, and the next one the sums of these.
struct PartRuns {
  int64_t count = 0; ///< 0 where one launch adds all parts
  int64_t length = 0;
};
PartRuns runsOf(int64_t parts);
/// The number of sums of runs: [columnSums, runs, n], at the beginning of the scratch. Behind them are the parts.
int64_t runSums(const Problem &problem, const Schedule &schedule);
/// The size of the scratch that holds partial sums over k, or over rows, in bytes.
int64_t scratchBytes(const Problem &problem, const Schedule &schedule);

} // namespace mpc::hero
#endif
