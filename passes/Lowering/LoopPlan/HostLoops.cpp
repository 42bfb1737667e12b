//===- HostLoops.cpp - divides loops among the threads of the host -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/Kernel/Target/Blocks.h"
#include "passes/Lowering/LoopPlan/ChooseLoops.h"

using namespace mlir;
using namespace mpc;
using kernel::Walk;

/// Returns how many leading loops to share: as few as give every thread of a large machine some work.
static int64_t parallelLoops(ArrayRef<LoopVar> loops) {
  int64_t count = 1, parallel = 0;
  for (; parallel < int64_t(loops.size()) && count < hostBlocks.grid; ++parallel)
    count *= loops[parallel].extent;
  return parallel;
}

/// Returns the largest divisor of n in [least, most], else `most`: with a divisor all blocks have equal length, and
/// their loops constant bounds.
static int64_t blockOf(int64_t n, int64_t least, int64_t most) {
  if (n <= most)
    return n;
  for (int64_t block = most; block >= least; --block)
    if (n % block == 0)
      return block;
  return most;
}

static void setTile(LoopVar &loop, int64_t tile) { loop.tile = tile < loop.extent ? tile : 0; }

static void dividePoints(Plan &plan, int64_t period) {
  ArrayRef<LoopVar> loops = plan.kept;
  // A loop over the neighbours that share work is no loop: they are computed together.
  if (period > 1 && !loops.empty() && loops.back().extent == period && loops.back().factors.size() == 1) {
    plan.vector = period;
    plan.cuts.clear();
    loops = loops.drop_back();
  }
  if (loops.empty())
    return;
  ArrayRef<LoopVar> outer = loops.drop_back();
  plan.parallel = parallelLoops(outer);
  if (iterations(outer) < hostBlocks.grid)
    setTile(plan.kept[outer.size()], hostBlocks.elements);
}

/// Returns how many numbers a tile of the outermost reduced loop adds where a sum has so many: about as many as there
/// are tiles then, because the error of a sum grows with the additions that a number goes through. A tile
/// also sets its sums to zero and adds them to the totals, which is little beside 16 numbers.
static int64_t chainOf(int64_t numbers) {
  int64_t chain = 16;
  while (chain < hostBlocks.chain && chain * chain < numbers)
    chain *= 2;
  return chain;
}

static void divideColumns(Plan &plan) {
  LoopVar &column = plan.kept.back();
  ArrayRef<LoopVar> outer = ArrayRef(plan.kept).drop_back();
  int64_t most = hostBlocks.columns;
  if (iterations(plan.kept) < hostBlocks.columnBlocks * most)
    most /= 2;
  setTile(column, blockOf(column.extent, most / 2, most));
  plan.parallel = parallelLoops(outer);
  LoopVar &first = plan.reduced.front();
  int64_t numbers = iterations(plan.reduced), chain = chainOf(numbers);
  if (numbers > 2 * chain)
    setTile(first, std::max<int64_t>(1, chain / (numbers / first.extent)));
}

void mpc::divideForHost(Plan &plan, int64_t period) {
  switch (plan.walk) {
  case Walk::Points:
    return dividePoints(plan, period);
  case Walk::Tiles:
    plan.parallel = int64_t(plan.kept.size()) - 2;
    for (LoopVar *loop : {&plan.kept[plan.parallel], &plan.kept.back()})
      loop->tile = std::min(hostBlocks.tile, loop->extent);
    return;
  case Walk::Rows:
    plan.parallel = parallelLoops(plan.kept);
    return;
  case Walk::Columns:
    return divideColumns(plan);
  case Walk::Copies:
    llvm_unreachable("values and their transposes in one walk are for GPUs");
  }
}
