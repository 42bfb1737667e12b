// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/emulator/Order.h"

#include "mpc/cpu.h"
#include "runtime/emulator/Mbarrier.h"
#include "runtime/emulator/Warpgroup.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt::emulator {

MPC_CPU_CLONES
void joinClocks(uint32_t *__restrict into, const uint32_t *__restrict from, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    into[i] = into[i] < from[i] ? from[i] : into[i];
}

void startAsynchronous(Block &block) {
  uint32_t threads = block.threadCount, groups = threads / kWarpgroup;
  uint32_t own = slotsOfBlock(threads);
  block.slots = (own * block.clusterSize + 15) & ~15u;
  block.firstSlot = own * block.rank;
  size_t rows = size_t(threads) + groups + 2 * kMaxMbarriers;
  if (block.clocks.size() < rows * block.slots)
    block.clocks.resize(rows * block.slots);
  if (block.progress.size() < threads)
    block.progress.resize(threads);
  uint32_t *row = block.clocks.data();
  std::memset(row, 0, size_t(threads + groups) * block.slots * 4);
  for (uint32_t i = 0; i < threads; ++i, row += block.slots) {
    Thread &t = block.threads[i];
    t.slot = block.firstSlot + i, t.epoch = 0, t.known = row;
    row[t.slot] = 1;
    Progress &progress = block.progress[i];
    progress.fences.clear(), progress.stores.clear(), progress.storeGroups.clear();
    progress.committed = progress.trail = 0;
    t.async = &progress;
  }
  block.warpgroups.resize(groups);
  for (uint32_t i = 0; i < groups; ++i, row += block.slots)
    block.warpgroups[i].start(i, row);
  block.mbarriers.clear();
  block.mbarriers.reserve(kMaxMbarriers);
  startRegisters(block);
}

static void changed(Thread &t) {
  if (t.id / kWarpgroup < t.parent->warpgroups.size())
    t.parent->warpgroups[t.id / kWarpgroup].stale = true;
}

void endEpoch(Thread &t) {
  if (++t.epoch >> kEpochBits)
    t.parent->racesKnown = false;
  t.known[t.slot] = t.epoch + 1;
}

void release(Thread &t, uint32_t *into) {
  joinClocks(into, t.known, t.parent->slots);
  endEpoch(t);
}

void acquire(Thread &t, const uint32_t *from) {
  joinClocks(t.known, from, t.parent->slots);
  changed(t);
}

void acquireSlot(Thread &t, uint32_t slot, uint32_t epoch) {
  t.known[slot] = std::max(t.known[slot], epoch);
  changed(t);
}

bool isFenced(const Block &block, Access write, const uint32_t *clock) {
  const Thread &writer = block.threads[slotOf(write) - block.firstSlot];
  uint32_t known = clock[writer.slot];
  for (size_t i = writer.async->fences.size(); i-- > 0;)
    if (writer.async->fences[i] < known)
      return writer.async->fences[i] >= epochOf(write);
  return false;
}

/// Joins the clocks of all threads that forThreads visits. release() joins their own clocks too, because each thread
/// knows what it did itself.
template <typename ForThreads>
static void orderThreads(uint32_t slots, ForThreads forThreads) {
  uint32_t joined[kMaxSlots + 16] = {};
  forThreads([&](Thread &t) { release(t, joined); });
  forThreads([&](Thread &t) {
    std::memcpy(t.known, joined, slots * sizeof *joined);
    t.known[t.slot] = t.epoch + 1;
    changed(t);
  });
}

void orderCluster(Block *blocks, uint32_t count) {
  orderThreads(blocks->slots, [&](auto what) {
    for (uint32_t b = 0; b < count; ++b)
      for (uint32_t i = 0; i < blocks[b].threadCount; ++i)
        what(blocks[b].threads[i]);
  });
}

void orderMemory(Block &block, uint32_t warps) {
  if (block.kernel->asynchronous)
    return orderThreads(block.slots, [&](auto what) {
      for (uint32_t w = 0; w < block.threadCount / kWarp; ++w)
        for (uint32_t lane = 0; warps >> w & 1 && lane < kWarp; ++lane)
          what(block.threads[w * kWarp + lane]);
    });
  uint32_t joined[kMaxWarps], count = block.threadCount / kWarp;
  if ((warps & (warps - 1)) == 0) { // a single warp learns nothing of others
    Warp &w = block.warps[__builtin_ctz(warps)];
    if (++w.epoch >> kEpochBits)
      block.racesKnown = false;
  } else {
    std::memset(joined, 0, sizeof joined);
    for (uint32_t v = 0; v < count; ++v)
      if (warps >> v & 1) {
        const Warp &w = block.warps[v];
        for (uint32_t i = 0; i < count; ++i)
          joined[i] = std::max(joined[i], w.known[i]);
        joined[v] = std::max(joined[v], w.epoch + 1);
      }
    for (uint32_t v = 0; v < count; ++v)
      if (warps >> v & 1) {
        Warp &w = block.warps[v];
        std::memcpy(w.known, joined, sizeof joined);
        if (++w.epoch >> kEpochBits)
          block.racesKnown = false;
      }
  }
}

} // namespace mpc::rt::emulator
