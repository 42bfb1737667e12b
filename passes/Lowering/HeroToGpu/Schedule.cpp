//===- Schedule.cpp - which tile, how many splits ------------------------------------===//
#include "passes/Lowering/HeroToGpu/Schedule.h"
#include "dialects/Graph/IR/Shapes.h"
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/HeroToGpu/Mma.h"
#include "passes/Lowering/HeroToGpu/Model.h"
#include "passes/Lowering/HeroToGpu/Wgmma.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

// The numbers are m, n, k; the rows and columns of a thread; stages; efficiency. Shared memory is read in
// 128-bit loads: in the largest tile, 16 elements feed 64 multiply-adds, in the smallest one 8 elements feed
// 16.
static constexpr Tile simtTiles[] = {
    {Mainloop::Simt, 128, 128, 8, 8, 8, 2, 0.85}, {Mainloop::Simt, 128, 64, 8, 8, 8, 2, 0.75},
    {Mainloop::Simt, 64, 64, 16, 8, 4, 2, 0.65},  {Mainloop::Simt, 128, 32, 16, 8, 4, 2, 0.55},
    {Mainloop::Simt, 32, 32, 16, 4, 4, 2, 0.4},   {Mainloop::Simt, 128, 8, 16, 4, 4, 2, 0.3},
};

// The numbers are m, n, k; the rows and columns of a warp; stages; efficiency. Efficiencies are estimates:
// the share of load_matrix and of addresses falls as the warp's tile grows. Copies are asynchronous
// (copy_async, sm_80 on), and rings 3 or 4 tiles deep.
static constexpr Tile ringTiles[] = {
    {Mainloop::Mma, 128, 256, 32, 64, 64, 3, 0.9}, {Mainloop::Mma, 128, 128, 32, 64, 64, 4, 0.85},
    {Mainloop::Mma, 128, 64, 32, 64, 32, 4, 0.75}, {Mainloop::Mma, 64, 64, 32, 32, 32, 4, 0.6},
    {Mainloop::Mma, 128, 32, 32, 32, 32, 4, 0.55}, {Mainloop::Mma, 32, 32, 32, 16, 16, 4, 0.3},
};
// Tiles that pass through registers: the ring has two of them, and warps have fewer sums, so that both fit.
static constexpr Tile stagedTiles[] = {
    {Mainloop::Mma, 128, 128, 32, 64, 32, 2, 0.7}, {Mainloop::Mma, 128, 64, 32, 32, 32, 2, 0.6},
    {Mainloop::Mma, 64, 64, 32, 32, 32, 2, 0.5},   {Mainloop::Mma, 128, 32, 32, 32, 32, 2, 0.45},
    {Mainloop::Mma, 32, 32, 32, 16, 16, 2, 0.25},
};

// The numbers are m, n, k; the rows and columns of a warpgroup; stages; efficiency; registers of the producer
// and of a consumer; blocks. A multiprocessor has 64 Ki registers: with two consumers, producer + 2 consumers
// is at most 504. A row of 64 k has 128 bytes, the widest swizzle.
static constexpr Tile wgmmaTiles[] = {
    {Mainloop::Wgmma, 128, 256, 64, 64, 256, 4, 0.8, 104, 200, 1},
    {Mainloop::Wgmma, 256, 128, 64, 128, 128, 4, 0.8, 120, 192, 1},
    {Mainloop::Wgmma, 128, 128, 64, 128, 128, 6, 0.78, 104, 200, 1, /*pingPong=*/true},
    {Mainloop::Wgmma, 64, 256, 64, 64, 256, 4, 0.76, 104, 200, 1, /*pingPong=*/true},
    {Mainloop::Wgmma, 128, 192, 64, 64, 192, 4, 0.76, 136, 184, 1},
    {Mainloop::Wgmma, 128, 128, 64, 64, 128, 6, 0.7, 0, 0, 1},
    {Mainloop::Wgmma, 64, 256, 64, 64, 256, 5, 0.62, 0, 0, 1},
    {Mainloop::Wgmma, 128, 64, 64, 64, 64, 7, 0.55, 0, 0, 1},
    {Mainloop::Wgmma, 64, 128, 64, 64, 128, 4, 0.55, 0, 0, 2},
    {Mainloop::Wgmma, 64, 64, 64, 64, 64, 6, 0.45, 0, 0, 2},
};

// The same for 8-bit floats, 128 of which have 128 bytes. The sums of a stage and those of all stages both
// take registers, so a warpgroup with 128 rows sums a stage 64 rows at a time. The tensor memory accelerator
// fetches both operands, so the producer needs few registers.
static constexpr Tile float8Tiles[] = {
    {Mainloop::Wgmma, 256, 128, 128, 128, 128, 4, 0.7, 40, 232, 1},
    {Mainloop::Wgmma, 128, 128, 128, 128, 128, 6, 0.68, 40, 232, 1, /*pingPong=*/true},
    {Mainloop::Wgmma, 128, 128, 128, 64, 128, 6, 0.62, 0, 0, 1},
    {Mainloop::Wgmma, 64, 128, 128, 64, 128, 4, 0.5, 0, 0, 1},
    {Mainloop::Wgmma, 128, 64, 128, 64, 64, 7, 0.5, 0, 0, 1},
    {Mainloop::Wgmma, 64, 64, 128, 64, 64, 6, 0.4, 0, 0, 2},
};

kernel::Contraction Schedule::contraction() const {
  return {.mainloop = tile.mainloop, .m = tile.m, .n = tile.n, .k = tile.k, .stages = tile.stages, .pingPong = tile.pingPong, .splits = splits,
          .clusterM = clusterAxis == Axis::M ? cluster : 1, .clusterN = clusterAxis == Axis::N ? cluster : 1};
}

int Tile::threads() const {
  int parts = m / partM * (n / partN);
  switch (mainloop) {
  case Mainloop::Simt:
    return parts;
  case Mainloop::Mma:
    return 32 * parts;
  case Mainloop::Wgmma:
    return 128 * ((pingPong ? 2 : parts) + 1);
  }
  llvm_unreachable("three mainloops");
}

llvm::SmallVector<Tile> mpc::hero::tilesFor(const Problem &problem, const GpuArch &arch) {
  llvm::SmallVector<Tile> tiles;
  if (graph::isFloat8(graph::elementOf(problem.a.tensor))) {
    for (const Tile &tile : float8Tiles)
      if (arch.hasWgmma && problem.k() > 0 && feedsWgmma(problem, tile))
        tiles.push_back(tile);
    return tiles;
  }
  Type element = problem.element();
  if (element.isF16() ? arch.hasMmaF16K8 : element.isBF16() && arch.hasMmaK16) {
    if (arch.hasWgmma && problem.k() > 0)
      for (const Tile &tile : wgmmaTiles)
        if (feedsWgmma(problem, tile) && wgmmaSharedBytes(tile) <= arch.sharedBytesPerBlock)
          tiles.push_back(tile);
    bool ring = copiesAsync(problem.a, arch) && copiesAsync(problem.b, arch);
    for (const Tile &tile : ring ? ArrayRef(ringTiles) : ArrayRef(stagedTiles))
      if (mmaSharedBytes(tile) <= arch.sharedBytesPerBlock)
        tiles.push_back(tile);
    return tiles;
  }
  bool wide = problem.accumulator().isF64();
  for (const Tile &tile : simtTiles)
    if (!wide || tile.partM * tile.partN <= 32) // f64 takes two registers for each sum
      tiles.push_back(tile);
  return tiles;
}

int64_t mpc::hero::usefulSplits(int64_t tiles, int64_t wanted) {
  int64_t each = llvm::divideCeilSigned(tiles, wanted);
  return each == 0 ? 1 : llvm::divideCeilSigned(tiles, each);
}

llvm::SmallVector<Schedule> mpc::hero::schedulesFor(const Problem &problem, const GpuArch &arch) {
  llvm::SmallVector<Schedule> schedules;
  for (const Tile &tile : tilesFor(problem, arch)) {
    int64_t kTiles = llvm::divideCeilSigned(problem.k(), int64_t(tile.k)), last = 0;
    llvm::SmallVector<Axis, 2> axes;
    if (tile.mainloop == Mainloop::Wgmma)
      axes = clusterAxesOf(problem, tile);
    for (int64_t wanted = 1; wanted <= 64 && wanted * 4 <= std::max<int64_t>(kTiles, 4); wanted *= 2) {
      int64_t splits = usefulSplits(kTiles, wanted);
      if (splits == std::exchange(last, splits))
        continue;
      if (splits > 1 && !problem.columnSums.empty())
        break; // rows are summed where their sums over k are whole
      schedules.push_back({tile, splits});
      for (Axis axis : axes)
        schedules.push_back({tile, splits, /*cluster=*/2, axis});
    }
  }
  return schedules;
}

const Schedule *mpc::hero::findSchedule(const kernel::Contraction &numbers, ArrayRef<Schedule> candidates) {
  auto *found = llvm::find_if(candidates, [&](const Schedule &schedule) { return schedule.contraction() == numbers; });
  return found == candidates.end() ? nullptr : found;
}

Schedule mpc::hero::fastestSchedule(const Problem &problem, const GpuArch &arch) {
  llvm::SmallVector<Schedule> schedules = schedulesFor(problem, arch);
  return *std::min_element(schedules.begin(), schedules.end(), [&](const Schedule &x, const Schedule &y) {
    return estimate(problem, x, arch).clocks() < estimate(problem, y, arch).clocks();
  });
}

FailureOr<Schedule> mpc::hero::scheduleOf(const Problem &problem, const GpuArch &arch) {
  kernel::DispatchOp dispatch = problem.dispatch;
  kernel::ContractionAttr attribute = dispatch.getScheduleAttr();
  if (!attribute)
    return emitErrorWithHint(dispatch.getLoc(), "this dispatch has no schedule", "run mpc-schedule before kernels are emitted");
  llvm::SmallVector<Schedule> schedules = schedulesFor(problem, arch);
  if (const Schedule *schedule = findSchedule(attribute.getSchedule(), schedules))
    return *schedule;
  return emitErrorWithHint(dispatch.getLoc(), "'" + llvm::Twine(attribute.getSchedule().text()) + "' is no schedule of this problem on " + arch.name,
                           "take one of its own, as '" + fastestSchedule(problem, arch).contraction().text() + "', or leave the choice to mpc-schedule");
}

int64_t mpc::hero::rowParts(const Problem &problem, const Schedule &schedule) {
  return problem.z() * llvm::alignTo(problem.m(), schedule.spanM()) / schedule.tile.rowsPerPart();
}

int64_t mpc::hero::scratchBytes(const Problem &problem, const Schedule &schedule) {
  int64_t each = problem.accumulator().getIntOrFloatBitWidth() / 8;
  if (schedule.splits == 1)
    return int64_t(problem.columnSums.size()) * rowParts(problem, schedule) * problem.n() * each;
  return schedule.splits * problem.z() * problem.m() * problem.n() * each;
}
