//===- Model.h - the expected time of a schedule ------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What works at the same time takes as long as the slowest of it; the rest is added:
//
//   clocks = max(math, feed, memory) + 2 % of the two others + ramps + sums + launches
//
//   math      multiply-adds of the busiest multiprocessor: waves of tiles, tails included, at the issue
//             rate of tensor cores (or FMA units) times the tile's efficiency
//   feed      bytes that tiles take from L2 into shared memory, at the lower of two rates: a multiprocessor's
//             bandwidth, and the bytes that the ring has in flight divided by the latency (Little's law); a
//             cluster loads the operand that its blocks share only once
//   memory    bytes of global memory at the GPU's bandwidth: each tensor once, and again what L2 does not hold
//             until it is needed the next time
//   ramps     filling and emptying the pipeline, once for each wave; a persistent kernel (wgmma) fills it only
//             once, and in ping-pong also empties it only once, since one warpgroup stores while the other
//             multiplies
//   sums      partial sums of a split k, written and read, at L2's bandwidth where L2 holds them
//   launches  the overhead of launching each kernel
//
// The GPUs are those whose numbers GpuArch has. On an H200 the times of 36 products were 1.01 to 2.13 times the
// estimates, in the median 1.14, and the schedule that the model preferred at f46d52d8 took 1.07 times the fastest
// one's time (docs/results/gpu-measured.md).
//
//===------------------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_SCHEDULE_MODEL_H
#define MPC_LOWERING_SCHEDULE_MODEL_H
#include "dialects/Kernel/Analysis/LaunchCosts.h"
#include "passes/Lowering/Schedule/Schedule.h"

namespace mpc::hero {

/// All times are in clocks of a multiprocessor.
struct Estimate {
  int64_t tiles = 0; ///< work items: tiles of C times splits of k, with m and n rounded up to whole clusters
  double waves = 0;  ///< tiles of one multiprocessor, not rounded
  double math = 0, feed = 0, memory = 0, ramps = 0, sums = 0, launches = 0;
  double globalBytes = 0; ///< includes partial sums where L2 does not hold them
  /// The clocks that the kernel which multiplies takes besides its bytes of global memory: `math`, `feed` and `ramps`.
  double productClocks() const;
  double clocks() const;
  double seconds(const GpuArch &arch) const;
};
/// The bytes that one multiprocessor takes in a clock: its path to L2 is 64 bytes wide, and that copies reach 80 % of
/// it is an estimate.
inline constexpr double l2BytesPerClock = 64 * 0.8;
Estimate estimate(const Problem &problem, const Schedule &schedule, const GpuArch &arch);

/// Returns the costs of the launches of the problem's dispatch, whose kernels are emitted with the schedule, in the
/// order of the launches. Each moves the part of the scratch that it works on.
llvm::SmallVector<kernel::LaunchCost> launchCostsOf(const Problem &problem, const Schedule &schedule);

/// The numbers that no schedule can beat.
struct Roofline {
  double flops = 0; ///< two for each multiply-add; taps that fall on padding count too
  double bytes = 0; ///< A, B and C, each read or written once
  double mathSeconds = 0, memorySeconds = 0;
  bool memoryBound() const { return memorySeconds > mathSeconds; }
  double seconds() const { return std::max(mathSeconds, memorySeconds); }
};
Roofline rooflineOf(const Problem &problem, const GpuArch &arch);

} // namespace mpc::hero
#endif
