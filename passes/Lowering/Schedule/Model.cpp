//===- Model.cpp - the expected time of a schedule ----------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Schedule/Model.h"
#include "dialects/Graph/IR/Storage.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

/// Clocks that one more kernel launch costs, that filling the pipeline takes, and that emptying it takes.
static constexpr double launchClocks = 4000, fillClocks = 700, drainClocks = 800;
/// An estimate of L2's bandwidth for data that is written once and read once, as a multiple of memory's bandwidth.
static constexpr double l2OfMemory = 2;
/// The factor by which tensor cores get faster when an operand is loaded once for two blocks. Published for
/// bf16 8192³ on an H100: 778 to 799 TFLOP/s. Where both operands of a tile are equally large, sharing that of the
/// columns gains more: eight of nine products of GPT-2 took 4 to 17 % longer on an H200 where that of the rows was
/// shared, and one as long (docs/results/gpu-measured.md).
static constexpr double clusterGain = 1.025, columnClusterGain = 1.03;
/// The factor by which multiprocessors multiply faster, at most, where others have no tile: the rates are those of all
/// at the limit of power. Two weight gradients of GPT-2, with 96 tiles on the 132 of an H200, took 60 us where the
/// estimate without this was 75.
static constexpr double idleGain = 1.2;
/// The time from the start of a copy until its bytes have arrived, under load.
static constexpr double latencyClocks = 800;
/// The fraction of the faster components' time that is not overlapped by the slowest component.
static constexpr double unhidden = 0.02;

/// The bytes that a multiprocessor can have under way: all stages but the one that is multiplied, of every
/// block on it.
static double bytesInFlight(const Problem &problem, const Tile &tile, double waves, double elementBytes,
                            const GpuArch &arch) {
  int64_t shared = factsOf(tile.mainloop).sharedBytes(problem, tile);
  double blocks = std::min(waves, double(std::max<int64_t>(1, arch.sharedBytesPerSm / shared)));
  return blocks * (tile.stages - 1) * double(tile.m + tile.n) * tile.k * elementBytes;
}

static double bytesPerClock(const GpuArch &arch) { return double(arch.globalGBs) * 1e3 / arch.clockMHz; }

double Estimate::productClocks() const { return std::max(math, feed) + unhidden * std::min(math, feed) + ramps; }
double Estimate::clocks() const {
  double slowest = std::max({math, feed, memory});
  return slowest + unhidden * (math + feed + memory - slowest) + ramps + sums + launches;
}
double Estimate::seconds(const GpuArch &arch) const { return clocks() / (arch.clockMHz * 1e6); }

static double gainOfCluster(const Schedule &schedule) {
  if (schedule.cluster == 1)
    return 1;
  return schedule.tile.m == schedule.tile.n && schedule.clusterAxis == Axis::M ? columnClusterGain : clusterGain;
}

Estimate mpc::hero::estimate(const Problem &p, const Schedule &schedule, const GpuArch &arch) {
  const Tile &tile = schedule.tile;
  const MainloopFacts &facts = factsOf(tile.mainloop);
  int64_t tilesM = llvm::divideCeilSigned(p.m(), schedule.spanM()) * (schedule.spanM() / tile.m),
          tilesN = llvm::divideCeilSigned(p.n(), schedule.spanN()) * (schedule.spanN() / tile.n),
          kTiles = llvm::divideCeilSigned(llvm::divideCeilSigned(p.k(), int64_t(tile.k)), schedule.splits);
  Estimate e;
  e.tiles = tilesM * tilesN * p.z() * schedule.splits;
  e.waves = double(e.tiles) / arch.multiprocessors;
  double waves = std::ceil(e.waves), elementBytes = p.factor().getIntOrFloatBitWidth() / 8.0;
  e.math = waves * double(tile.m) * tile.n * tile.k * double(kTiles) /
           (facts.multiplyAdds(p, arch) * tile.efficiency * gainOfCluster(schedule) *
            std::clamp(1 / e.waves, 1.0, idleGain));
  double loadedM = schedule.clusterAxis == Axis::N ? double(tile.m) / schedule.cluster : tile.m,
         loadedN = schedule.clusterAxis == Axis::M ? double(tile.n) / schedule.cluster : tile.n;
  double feedRate = l2BytesPerClock;
  if (facts.waitsForCopies)
    feedRate = std::min(feedRate, bytesInFlight(p, tile, waves, elementBytes, arch) / latencyClocks);
  e.feed = waves * (loadedM + loadedN) * tile.k * double(kTiles) * elementBytes / feedRate;
  e.ramps = (facts.persistent ? 1 : waves) * fillClocks + (tile.pingPong ? 1 : waves) * drainClocks;
  e.launches = launchClocks;

  // The tiles of one wave lie in a square of C, as far as there are rows and columns. Where A and B do not
  // stay in L2, each wave reads the rows of A and the columns of B that it needs.
  double bytesA = double(graph::bytesOf(p.a.tensor.getType())), bytesB = double(graph::bytesOf(p.b.tensor.getType())),
         bytesC = double(graph::bytesOf(p.hero->getResult(0).getType()));
  double side = std::sqrt(double(arch.multiprocessors)), rows = std::min(side, double(tilesM)),
         columns = std::min(arch.multiprocessors / rows, double(tilesN));
  double perWave = bytesA * rows / double(tilesM) + bytesB * columns / double(tilesN);
  double operands = bytesA + bytesB;
  if (operands > arch.l2MiB * double(1 << 20))
    operands = std::max(operands, perWave * e.waves / double(p.z() * schedule.splits));
  e.globalBytes = operands + bytesC;
  double allBytesPerClock = bytesPerClock(arch);
  e.memory = e.globalBytes / allBytesPerClock;
  if (schedule.splits > 1) {
    double partial = 2.0 * double(scratchBytes(p, schedule));
    bool inL2 = partial / 2 <= arch.l2MiB * double(1 << 20);
    e.sums = partial / (inL2 ? l2OfMemory * allBytesPerClock : allBytesPerClock);
    e.launches += launchClocks;
    e.globalBytes += inL2 ? 0 : partial;
  }
  return e;
}

llvm::SmallVector<kernel::LaunchCost> mpc::hero::launchCostsOf(const Problem &problem, const Schedule &schedule) {
  llvm::SmallVector<kernel::LaunchCost> costs = kernel::launchCostsOf(problem.dispatch);
  int64_t runs = runSums(problem, schedule) * problem.accumulator().getIntOrFloatBitWidth() / 8;
  if (runs == 0)
    return costs;
  // The product, the sums of runs, and their sums: the costs above take the whole scratch for what each moves.
  assert(costs.size() == 3 && "the kernels are emitted");
  int64_t all = scratchBytes(problem, schedule);
  costs[0].writtenBytes -= runs;
  costs[1].readBytes = all - runs;
  costs[1].writtenBytes = runs;
  costs[2].readBytes -= all - runs;
  return costs;
}

Roofline mpc::hero::rooflineOf(const Problem &p, const GpuArch &arch) {
  Roofline roofline;
  roofline.flops = MatrixProduct::flopsOf(p.digits);
  for (Type type : {p.a.tensor.getType(), p.b.tensor.getType(), p.hero->getResult(0).getType()})
    roofline.bytes += double(graph::bytesOf(type));
  double best = 0;
  for (Mainloop mainloop : kernel::allMainloops)
    best = std::max(best, factsOf(mainloop).multiplyAdds(p, arch));
  double clock = arch.clockMHz * 1e6;
  roofline.mathSeconds = roofline.flops / (2 * best * arch.multiprocessors * clock);
  roofline.memorySeconds = roofline.bytes / (arch.globalGBs * 1e9);
  return roofline;
}
