//===- Schedule.cpp - which tile, how many splits ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/Schedule/Schedule.h"
#include "dialects/Support/Diagnostics.h"
#include "passes/Lowering/Schedule/Model.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

kernel::Contraction Schedule::contraction() const {
  return {.mainloop = tile.mainloop,
          .m = tile.m,
          .n = tile.n,
          .k = tile.k,
          .stages = tile.stages,
          .pingPong = tile.pingPong,
          .splits = splits,
          .clusterM = clusterAxis == Axis::M ? cluster : 1,
          .clusterN = clusterAxis == Axis::N ? cluster : 1};
}

llvm::SmallVector<Tile> mpc::hero::tilesFor(const Problem &problem, const GpuArch &arch) {
  llvm::SmallVector<Tile> tiles;
  for (Mainloop mainloop : llvm::reverse(kernel::allMainloops)) { // the best for large problems first, fallbacks last
    const MainloopFacts &facts = factsOf(mainloop);
    if (facts.multiplyAdds(problem, arch) == 0 || (facts.fallback && !tiles.empty()))
      continue;
    for (const Tile &tile : facts.tiles(problem, arch))
      if (facts.sharedBytes(problem, tile) <= arch.sharedBytesPerBlock)
        tiles.push_back(tile);
  }
  return tiles;
}

int64_t mpc::hero::usefulSplits(int64_t tiles, int64_t wanted) {
  int64_t each = llvm::divideCeilSigned(tiles, wanted);
  return each == 0 ? 1 : llvm::divideCeilSigned(tiles, each);
}

/// The most parts that k is split into: about as many as a large GPU has multiprocessors.
static constexpr int64_t mostSplits = 128;

llvm::SmallVector<Schedule> mpc::hero::schedulesFor(const Problem &problem, const GpuArch &arch) {
  llvm::SmallVector<Schedule> schedules;
  for (const Tile &tile : tilesFor(problem, arch)) {
    int64_t kTiles = llvm::divideCeilSigned(problem.k(), int64_t(tile.k)), last = 0;
    llvm::SmallVector<Axis, 2> axes;
    if (arch.hasClusters)
      axes = factsOf(tile.mainloop).clusterAxes(problem, tile);
    for (int64_t wanted = 1; wanted <= mostSplits && wanted * 4 <= std::max<int64_t>(kTiles, 4); wanted *= 2) {
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
    return emitErrorWithHint(dispatch.getLoc(), "this dispatch has no schedule",
                             "run mpc-schedule before kernels are emitted");
  llvm::SmallVector<Schedule> schedules = schedulesFor(problem, arch);
  if (const Schedule *schedule = findSchedule(attribute.getSchedule(), schedules))
    return *schedule;
  return emitErrorWithHint(dispatch.getLoc(),
                           "'" + llvm::Twine(attribute.getSchedule().text()) + "' is no schedule of this problem on " +
                               arch.name,
                           "take one of its own, as '" + fastestSchedule(problem, arch).contraction().text() +
                               "', or leave the choice to mpc-schedule");
}

int64_t mpc::hero::rowParts(const Problem &problem, const Schedule &schedule) {
  return problem.z() * llvm::alignTo(problem.m(), schedule.spanM()) / schedule.tile.rowsPerPart();
}

PartRuns mpc::hero::runsOf(int64_t parts) {
  constexpr int64_t mostAtOnce = 512;
  if (parts <= mostAtOnce)
    return {};
  int64_t length = int64_t(1) << llvm::Log2_64_Ceil(uint64_t(parts)) / 2; // about as long as there are runs
  return {llvm::divideCeilSigned(parts, length), length};
}

int64_t mpc::hero::runSums(const Problem &problem, const Schedule &schedule) {
  return int64_t(problem.columnSums.size()) * runsOf(rowParts(problem, schedule)).count * problem.n();
}

int64_t mpc::hero::scratchBytes(const Problem &problem, const Schedule &schedule) {
  int64_t each = problem.accumulator().getIntOrFloatBitWidth() / 8;
  if (schedule.splits == 1)
    return (runSums(problem, schedule) +
            int64_t(problem.columnSums.size()) * rowParts(problem, schedule) * problem.n()) *
           each;
  return schedule.splits * problem.z() * problem.m() * problem.n() * each;
}
