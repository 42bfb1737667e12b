//===- Model.h - the expected time of a schedule ------------------------------------------------===//
//
// A launch takes as long as the slowest of what works at the same time, and what does not overlap with it:
//
//   clocks = max(math, feed, memory) + 2 % of the two others + ramps + sums + launches
//
//   math      multiply-adds of the busiest multiprocessor: waves of tiles, tails included, at the issue
//             rate of tensor cores (or FMA units) times the tile's efficiency
//   feed      bytes that tiles take from L2 into shared memory, at a multiprocessor's bandwidth, or as far
//             as the ring's bytes cover the latency (Little's law); clusters take one operand's once
//   memory    bytes of global memory at the GPU's bandwidth: each tensor once, and what L2 does not hold
//             until it is needed again
//   ramps     filling the pipeline and emptying it, of each wave; where blocks go from tile to tile
//             (wgmma) it stays full, and in ping-pong one warpgroup empties while the other multiplies
//   sums      partial sums of split k, written and read, in L2 where it holds them
//   launches  of the kernels
//
// GPUs are those that GpuArch names; nothing here is measured.
//
//===------------------------------------------------------------------------------------------===//
#ifndef MPC_LOWERING_HEROTOGPU_MODEL_H
#define MPC_LOWERING_HEROTOGPU_MODEL_H
#include "passes/Lowering/HeroToGpu/Schedule.h"

namespace mpc::hero {

/// All times in clocks of a multiprocessor.
struct Estimate {
  int64_t tiles = 0; ///< of C, splits counted apart: units of work; clusters round them up
  double waves = 0;  ///< tiles of a multiprocessor, not rounded
  double math = 0, feed = 0, memory = 0, ramps = 0, sums = 0, launches = 0;
  double globalBytes = 0; ///< partial sums included, where L2 does not hold them
  double clocks() const;
  double seconds(const GpuArch &arch) const;
};
Estimate estimate(const Problem &problem, const Schedule &schedule, const GpuArch &arch);

/// What no schedule can beat.
struct Roofline {
  double flops = 0; ///< two for each multiply-add that contributes; taps in padding count
  double bytes = 0; ///< A, B and C, each once
  double mathSeconds = 0, memorySeconds = 0;
  bool memoryBound() const { return memorySeconds > mathSeconds; }
  double seconds() const { return std::max(mathSeconds, memorySeconds); }
};
Roofline rooflineOf(const Problem &problem, const GpuArch &arch);

} // namespace mpc::hero
#endif
