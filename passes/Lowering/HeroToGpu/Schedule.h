//===- Schedule.h - tiles, as data ---------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_SCHEDULE_H
#define MPC_LOWERING_HEROTOGPU_SCHEDULE_H
#include "passes/Lowering/GpuArch/GpuArch.h"
#include "passes/Lowering/HeroToGpu/Problem.h"

namespace mpc::hero {

enum class Mainloop {
  Simt,  ///< multiply-adds of every thread; operands widened to the accumulator's type
  Mma,   ///< kernel.mma of every warp; f16, and bf16 where the architecture has it
  Wgmma, ///< kernel.wgmma of warpgroups, and a warpgroup that feeds them; f16, bf16 and 8-bit floats
};
inline constexpr Mainloop allMainloops[] = {Mainloop::Simt, Mainloop::Mma, Mainloop::Wgmma};
llvm::StringRef nameOf(Mainloop mainloop);

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
};

/// The tiles that fit problem and architecture, the best for large problems first; none where a product of
/// 8-bit floats cannot be computed.
llvm::SmallVector<Tile> tilesFor(const Problem &problem, const GpuArch &arch);
/// What a block can do with them: tiles, splits of k, clusters. No two are the same.
llvm::SmallVector<Schedule> schedulesFor(const Problem &problem, const GpuArch &arch);
/// The name of the dispatch's attribute that decides: textOf() one of them (ScheduleText.h).
inline constexpr llvm::StringLiteral scheduleAttr = "schedule";
/// What the dispatch says, where it is one of them; else that of least estimated time (Model.h).
Schedule chooseSchedule(const Problem &problem, const GpuArch &arch);
/// The number of splits that are not empty when k's tiles are dealt out to `wanted`.
int64_t usefulSplits(int64_t tiles, int64_t wanted);
/// Partial sums, in bytes.
int64_t scratchBytes(const Problem &problem, const Schedule &schedule);

} // namespace mpc::hero
#endif
