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

/// The fewest numbers in a chain: to set a sum to zero and to add it to a total is little beside 16 additions.
constexpr int64_t shortestChain = 16;

/// Returns about how many numbers a chain adds where a sum has so many: about as many as there are chains then, because
/// the error of a sum grows with the additions that a number goes through.
static int64_t chainOf(int64_t numbers) {
  int64_t chain = shortestChain;
  while (chain < hostBlocks.chain && chain * chain < numbers)
    chain *= 2;
  return chain;
}

/// Divides a sum into chains, each of which is added up before it is added to the total. Their length is a divisor of
/// a dimension times all dimensions inside of it, so that the order of a sum follows from the dimensions that it adds
/// up, however many of them one loop walks: what else is in the kernel decides that.
static void divideSums(MutableArrayRef<LoopVar> loops, ArrayRef<kernel::Dim> dims) {
  int64_t numbers = iterations(loops), chain = chainOf(numbers);
  if (numbers <= 2 * chain)
    return;
  LoopVar *chosen = &loops.front();
  int64_t inside = numbers / loops.front().extent, tile = std::max<int64_t>(1, chain / inside), best = 0;
  auto ratio = [&](int64_t length) { return double(std::max(length, chain)) / double(std::min(length, chain)); };
  inside = 1;
  for (LoopVar &loop : llvm::reverse(loops)) {
    int64_t within = 1; // the iterations of the loop for one of the dimension
    for (SymbolId dim : llvm::reverse(loop.factors)) {
      int64_t extent = dims[dim].extent;
      for (int64_t count = 1; count <= std::min(extent, hostBlocks.chain / inside); ++count) {
        int64_t length = count * inside;
        if (extent % count != 0 || length < std::max(shortestChain, chain / 4) ||
            (best > 0 && ratio(length) >= ratio(best)))
          continue;
        chosen = &loop;
        tile = count * within;
        best = length;
      }
      inside *= extent;
      within *= extent;
    }
  }
  // A whole loop is one iteration of the loop around it.
  while (tile == chosen->extent && chosen != loops.begin()) {
    --chosen;
    tile = 1;
  }
  setTile(*chosen, tile);
}

static void divideColumns(Plan &plan) {
  LoopVar &column = plan.kept.back();
  ArrayRef<LoopVar> outer = ArrayRef(plan.kept).drop_back();
  int64_t most = hostBlocks.columns;
  if (iterations(plan.kept) < hostBlocks.columnBlocks * most)
    most /= 2;
  setTile(column, blockOf(column.extent, most / 2, most));
  plan.parallel = parallelLoops(outer);
  divideSums(plan.reduced, plan.factors);
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
