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

/// Divides a sum into chains, each of which is added up before it is added to the total. The order of a sum follows
/// from the dimensions that it adds up, however many of them one loop walks: what else is in the kernel decides that.
/// So the length of a chain is a divisor of a dimension times all dimensions inside of it. Where no such length is
/// good, chains begin anew with each iteration around a dimension, whose last chain may be shorter; a loop begins at
/// that dimension.
static void divideSums(llvm::SmallVectorImpl<LoopVar> &loops, ArrayRef<kernel::Dim> dims) {
  int64_t numbers = iterations(loops), chain = chainOf(numbers);
  if (numbers <= 2 * chain)
    return;
  struct Choice {
    size_t loop, factor; ///< the dimension
    int64_t tile;        ///< in iterations of the loop
    int64_t length;      ///< the numbers that a chain adds
  };
  std::optional<Choice> best, uneven;
  auto ratio = [&](int64_t length) { return double(std::max(length, chain)) / double(std::min(length, chain)); };
  int64_t inside = 1; // the numbers that one step of the dimension adds
  for (size_t l = loops.size(); l-- > 0;) {
    int64_t within = 1; // the iterations of the loop that make one step of the dimension
    for (size_t f = loops[l].factors.size(); f-- > 0;) {
      int64_t extent = dims[loops[l].factors[f]].extent;
      for (int64_t count = 1; count <= std::min(extent, hostBlocks.chain / inside); ++count)
        if (int64_t length = count * inside; extent % count == 0 && length >= std::max(shortestChain, chain / 4) &&
                                             (!best || ratio(length) < ratio(best->length)))
          best = {l, f, count * within, length};
      if (!uneven && inside * extent > hostBlocks.chain)
        uneven = {l, f, std::max<int64_t>(1, chain / inside) * within, 0};
      inside *= extent;
      within *= extent;
    }
  }
  if (best) {
    // A whole loop is one iteration of the loop around it.
    while (best->tile == loops[best->loop].extent && best->loop > 0)
      best = {best->loop - 1, 0, 1, best->length};
    return setTile(loops[best->loop], best->tile);
  }
  LoopVar &loop = loops[uneven->loop], around;
  around.factors.assign(loop.factors.begin(), loop.factors.begin() + uneven->factor);
  for (SymbolId dim : around.factors)
    around.extent *= dims[dim].extent;
  loop.factors.erase(loop.factors.begin(), loop.factors.begin() + uneven->factor);
  loop.extent /= around.extent;
  setTile(loop, uneven->tile);
  if (!around.factors.empty())
    loops.insert(loops.begin() + uneven->loop, around);
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
