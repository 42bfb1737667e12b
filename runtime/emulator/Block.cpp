// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/emulator/Block.h"

#include "runtime/emulator/Mbarrier.h"
#include "runtime/emulator/Order.h"
#include "runtime/emulator/TensorMemory.h"
#include "runtime/emulator/Warpgroup.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace mpc::rt::emulator {

void Scheduler::reserve(uint32_t threads) {
  size_t capacity = 64;
  while (capacity < threads)
    capacity *= 2;
  ring.resize(std::max(ring.size(), capacity));
}

void suspend(Thread &t) {
  Scheduler &scheduler = *t.parent->scheduler;
  switchContext(t.context, scheduler.size ? scheduler.pop()->context : scheduler.home);
}

void stop(Thread &t, Fault fault, uint32_t site, const char *format, ...) {
  Scheduler &scheduler = *t.parent->scheduler;
  Finding &finding = scheduler.finding;
  finding.fault = fault;
  std::copy(t.block, t.block + 3, finding.block);
  finding.thread = t.id, finding.site = site;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(finding.detail, sizeof finding.detail, format, arguments);
  va_end(arguments);
  switchContext(t.context, scheduler.home);
  __builtin_unreachable();
}

void wake(Thread &t) {
  t.state = State::Ready;
  t.parent->scheduler->pushFront(&t);
}

Block::Block() = default;
Block::~Block() = default;

static void fiberMain(void *argument) {
  contextStarted();
  Thread &t = *static_cast<Thread *>(argument);
  Block &block = *t.parent;
  block.kernel->entry(&t, block.arguments);
  if (t.known)
    checkExit(t), checkStores(t);
  t.state = State::Exited;
  --block.live;
  block.warps[t.warp].live &= ~(1u << t.id % kWarp);
  recheckWarp(t);
  recheckBarriers(t);
  if (t.known)
    recheckCluster(t);
  suspend(t); // the fiber never runs again
}

/// splitmix64 (Steele, Lea, Flood 2014), used only for orders.
static uint64_t nextRandom(uint64_t &state) {
  uint64_t z = state += 0x9E3779B97F4A7C15;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
  z = (z ^ z >> 27) * 0x94D049BB133111EB;
  return z ^ z >> 31;
}

static void permute(uint32_t *order, uint32_t count, uint64_t &state) {
  for (uint32_t i = 0; i < count; ++i)
    order[i] = i;
  if (state != 0)
    for (uint32_t i = count; i > 1; --i)
      std::swap(order[i - 1], order[nextRandom(state) % i]);
}

/// Starts a block, whose stacks begin at `firstStack`.
static void start(Block &block, Scheduler &scheduler, const Stacks &stacks, uint32_t firstStack, uint64_t seed) {
  const Kernel &kernel = *block.kernel;
  block.scheduler = &scheduler;
  block.threadCount = block.live = kernel.threads;
  block.racesKnown = true;
  std::memset(block.barriers, 0, sizeof block.barriers);
  block.openBarriers = 0;
  if (block.sharedBytes < kernel.sharedBytes) {
    constexpr size_t alignment = 1024; // the largest that a kernel may ask for
    block.sharedBytes = kernel.sharedBytes;
    block.sharedStorage = std::make_unique<char[]>(kernel.sharedBytes + alignment);
    block.shared =
        reinterpret_cast<char *>((reinterpret_cast<uintptr_t>(block.sharedStorage.get()) + alignment - 1) & -alignment);
  }
  block.cells.assign((kernel.sharedBytes + (1u << kernel.granuleLog2) - 1) >> kernel.granuleLog2, Cell{});
  if (block.threads.size() < kernel.threads)
    block.threads.resize(kernel.threads);
  block.atCluster = 0;

  uint32_t warps[kMaxWarps], lanes[kWarp], count = kernel.threads / kWarp;
  if (seed != 0)
    for (uint32_t i : block.index)
      seed = (seed + i) * 0x9E3779B97F4A7C15 | 1;
  permute(warps, count, seed);
  for (uint32_t i = 0; i < count; ++i) {
    Warp &warp = block.warps[i];
    warp.live = ~0u, warp.arrived = 0, warp.epoch = 0;
    std::memset(warp.known, 0, sizeof warp.known);
  }
  for (uint32_t i = 0; i < count; ++i) {
    permute(lanes, kWarp, seed);
    for (uint32_t lane : lanes) {
      Thread &t = block.threads[warps[i] * kWarp + lane];
      t.id = warps[i] * kWarp + lane, t.warp = warps[i];
      std::copy(block.index, block.index + 3, t.block);
      t.grid = block.gridSize;
      t.parent = &block;
      t.state = State::Ready;
      t.copies.clear(), t.groups.clear();
      t.known = nullptr;
      t.context = makeContext(stacks, firstStack + t.id, fiberMain, &t);
      scheduler.pushBack(&t);
    }
  }
  if (kernel.asynchronous)
    startAsynchronous(block);
}

/// Is called when no thread can go on and some have not exited. The finding is the first thread that waits at an
/// mbarrier, or else for registers, at a barrier, in an operation of a warp or warpgroup.
static void diagnose(Block *blocks, uint32_t count, Scheduler &scheduler) {
  auto forThreads = [&](auto what) {
    for (uint32_t b = 0; b < count; ++b)
      for (uint32_t i = 0; i < blocks[b].threadCount; ++i)
        what(blocks[b].threads[i]);
  };
  auto first = [&](auto holds) {
    Thread *found = nullptr;
    forThreads([&](Thread &t) { found = !found && holds(t) ? &t : found; });
    return found;
  };
  struct {
    State state;
    Fault fault;
  } order[] = {{State::AtMbarrier, Fault::EndlessWait},     {State::AtRegisters, Fault::Registers},
               {State::AtBarrier, Fault::DivergentBarrier}, {State::AtClusterBarrier, Fault::DivergentBarrier},
               {State::InWarp, Fault::DivergentWarp},       {State::InWarpgroup, Fault::DivergentWarp}};
  Thread *waits = nullptr;
  Fault fault = Fault::None;
  for (auto [state, itsFault] : order)
    if (!waits && (waits = first([state = state](Thread &t) { return t.state == state; })))
      fault = itsFault;
  // Of several mbarriers the one that misses the fewest arrivals is the cause; the others miss arrivals that
  // would come after it.
  if (fault == Fault::EndlessWait)
    forThreads([&](Thread &t) {
      if (t.state == State::AtMbarrier && t.async->mbarrier->pending < waits->async->mbarrier->pending)
        waits = &t;
    });
  Thread *other =
      first([&](Thread &t) { return t.state != State::Exited && (t.site != waits->site || t.state != waits->state); });
  if (!other)
    other = first([](Thread &t) { return t.state == State::Exited; });
  uint32_t together = 0;
  forThreads([&](Thread &t) { together += t.state == waits->state && t.site == waits->site; });
  Finding &finding = scheduler.finding;
  finding.fault = fault;
  std::copy(waits->block, waits->block + 3, finding.block);
  finding.thread = waits->id, finding.site = waits->site;
  if (fault == Fault::EndlessWait)
    return describeWait(*waits, other, together, finding);
  if (fault == Fault::Registers)
    return describeRegisters(*waits, finding);
  const char *format = other ? "%u threads wait here for ever; thread %u %s%s"
                             : "%u threads wait here for ever, for more than there are";
  bool exited = other && other->state == State::Exited;
  snprintf(finding.detail, sizeof finding.detail, format, together, other ? other->id : 0,
           exited ? "has exited" : "waits at ", exited || !other ? "" : blocks->kernel->sites[other->site].c_str());
}

bool runBlocks(Block *blocks, uint32_t count, Scheduler &scheduler, const Stacks &stacks, uint64_t seed) {
  scheduler.reserve(blocks->kernel->threads * count);
  scheduler.head = scheduler.size = 0;
  scheduler.finding.fault = Fault::None;
  for (uint32_t rank = 0; rank < count; ++rank) {
    Block &block = blocks[rank];
    block.cluster = blocks, block.clusterSize = count, block.rank = rank;
  }
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t rank = seed & 1 ? count - 1 - i : i;
    start(blocks[rank], scheduler, stacks, rank * blocks->kernel->threads, seed);
  }
  scheduler.home = Context(); // so that it does not matter which OS thread runs it
  switchContext(scheduler.home, scheduler.pop()->context);
  if (scheduler.finding.fault != Fault::None)
    return false;
  for (uint32_t rank = 0; rank < count; ++rank)
    if (blocks[rank].live != 0) {
      diagnose(blocks, count, scheduler);
      return false;
    }
  for (uint32_t rank = 0; rank < count; ++rank)
    if (!checkLoads(blocks[rank], scheduler.finding))
      return false;
  return true;
}

} // namespace mpc::rt::emulator
