//===- Schedule.h - tiles, as data ---------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_SCHEDULE_H
#define MPC_LOWERING_HEROTOGPU_SCHEDULE_H
#include "dialects/Kernel/Target/GpuArch.h"
#include "passes/Lowering/HeroToGpu/Problem.h"

namespace mpc::hero {

using kernel::Mainloop;
using kernel::nameOf;

/// How a block computes its tile of C.
struct Tile {
  Mainloop mainloop;
  int m, n, k;
  /// Simt: C's elements of a thread. Mma: those of a warp. Wgmma: those of a warpgroup.
  int partM, partN;
  /// Pieces of k in shared memory: 2 where threads hold the next one in registers, more with copy_async.
  int stages;
  /// Of the multiply-adds that the arithmetic units could do, the share that this tile reaches in large
  /// problems.
  double efficiency;
  /// Wgmma: of a thread, once the warpgroups have parted; 0 where all keep what the launch gives.
  int producerRegisters = 0, consumerRegisters = 0;
  /// That an SM shall hold at once; 0: no matter.
  int blocks = 0;
  /// Wgmma: two warpgroups multiply, each tiles of its own, in turns; while one stores its sums the other has
  /// the tensor cores. Else they share a tile.
  bool pingPong = false;
  int threads() const;
};

struct Schedule {
  Tile tile;
  int64_t splits = 1; ///< of k, each summed by blocks of their own
  /// Wgmma: blocks of a cluster, neighbours along this axis. The operand of the other axis they have in
  /// common: each loads a part of it for all.
  int cluster = 1;
  Axis clusterAxis = Axis::M;

  /// What m and n are rounded up to.
  int64_t spanM() const { return int64_t(tile.m) * (clusterAxis == Axis::M ? cluster : 1); }
  int64_t spanN() const { return int64_t(tile.n) * (clusterAxis == Axis::N ? cluster : 1); }
  /// The numbers that tell it apart from the problem's other schedules.
  kernel::Contraction contraction() const;
};

/// The tiles that fit problem and architecture, the best for large problems first; none where a product of
/// 8-bit floats cannot be computed.
llvm::SmallVector<Tile> tilesFor(const Problem &problem, const GpuArch &arch);
/// What a block can do with them: tiles, splits of k, clusters. No two are the same.
llvm::SmallVector<Schedule> schedulesFor(const Problem &problem, const GpuArch &arch);
/// The one with these numbers among `candidates`; null where none has them.
const Schedule *findSchedule(const kernel::Contraction &numbers, llvm::ArrayRef<Schedule> candidates);
/// The schedule of least estimated time (Model.h).
Schedule fastestSchedule(const Problem &problem, const GpuArch &arch);
/// The schedule that the dispatch carries. Fails with a diagnostic where it carries none, or one that the problem does not have on this architecture.
mlir::FailureOr<Schedule> scheduleOf(const Problem &problem, const GpuArch &arch);
/// The number of splits that are not empty when k's tiles are dealt out to `wanted`.
int64_t usefulSplits(int64_t tiles, int64_t wanted);
/// Partial sums, in bytes.
int64_t scratchBytes(const Problem &problem, const Schedule &schedule);

} // namespace mpc::hero
#endif
