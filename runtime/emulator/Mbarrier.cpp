// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An arrival hands the clock of its thread to those threads that wait for the phase (Order.h).
#include "runtime/emulator/Mbarrier.h"

#include "runtime/emulator/Order.h"
#include "runtime/emulator/TensorMemory.h"
#include "runtime/emulator/Warpgroup.h"

#include <algorithm>
#include <cstdio>

namespace mpc::rt::emulator {

/// The limits are from PTX ISA, "Size and alignment of mbarrier object", "Valid range of counts".
constexpr uint32_t kMbarrierBytes = 8, kMbarrierLog2Alignment = 3, kMaxCount = (1u << 20) - 1;

Mbarrier &findMbarrier(Thread &t, Block &block, uint64_t address, uint32_t site) {
  uint32_t place = locateShared(t, address, kMbarrierBytes, kMbarrierLog2Alignment, /*write=*/true, site);
  for (Mbarrier &b : block.mbarriers)
    if (b.place == place) {
      if (block.racesKnown && !isOrdered(b.init, t, block.warps[t.warp]))
        stop(t, Fault::Mbarrier, site, "thread %u initialised it, and no barrier came behind", b.initThread);
      if (&block != t.parent && !b.fenced)
        stop(t, Fault::Mbarrier, site, "no mbarrier_fence came behind its initialisation by thread %u", b.initThread);
      return b;
    }
  stop(t, Fault::Mbarrier, site, "there is no mbarrier at this address: it was never initialised");
}

void completePhase(Mbarrier &b, Thread &self) {
  if (b.pending != 0)
    return;
  while (b.expected > 0 && !b.loads.empty()) {
    const TensorCopy &load = b.loads.front();
    uint32_t bytes = load.map->boxBytes();
    if (bytes > b.expected)
      stop(self, Fault::Mbarrier, load.site,
           "%u bytes come in phase %u of the mbarrier of %s, which expects only %lld more", bytes, b.phase,
           b.parent->kernel->sites[b.initSite].c_str(), static_cast<long long>(b.expected));
    arriveLoad(b, load);
    b.loaded = b.phase + 1;
    b.expected -= bytes;
    b.loads.erase(b.loads.begin());
  }
  if (b.expected != 0)
    return;
  Block &block = *b.parent;
  ++b.phase;
  b.pending = b.count;
  std::copy(b.arriving, b.arriving + block.slots, b.ended);
  b.ended[slotOfMbarrier(block, b.number)] = b.phase;
  for (Thread *t = b.waiting; t; t = t->async->next)
    wake(*t);
  b.waiting = nullptr;
}

static void arrive(Thread &t, Mbarrier &b, uint32_t site) {
  if (b.pending == 0)
    stop(t, Fault::Mbarrier, site, "more than %u arrivals in phase %u, which still misses %lld bytes", b.count, b.phase,
         static_cast<long long>(b.expected));
  release(t, b.arriving);
  --b.pending;
  completePhase(b, t);
}

void describeWait(const Thread &t, const Thread *other, uint32_t count, Finding &finding) {
  const Mbarrier &b = *t.async->mbarrier;
  const auto &sites = t.parent->kernel->sites;
  int length = std::snprintf(finding.detail, sizeof finding.detail,
                             "%u threads wait for ever for the end of phase %u (parity %u), of whose %u "
                             "arrivals %u are missing, and %lld bytes; "
                             "mbarrier of %s",
                             count, b.phase, b.phase & 1, b.count, b.pending, static_cast<long long>(b.expected),
                             sites[b.initSite].c_str());
  if (other && other->state != State::Exited && size_t(length) < sizeof finding.detail)
    std::snprintf(finding.detail + length, sizeof finding.detail - size_t(length), "; thread %u waits at %s", other->id,
                  sites[other->site].c_str());
}

} // namespace mpc::rt::emulator

using namespace mpc::rt::emulator;

void mpc_emu_mbarrier_init(mpc_emu_thread *thread, uint64_t barrier, uint32_t count, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  Block &block = *t.parent;
  uint32_t place = checkShared(t, barrier, kMbarrierBytes, kMbarrierLog2Alignment | MPC_EMU_WRITE << 8, site);
  if (count == 0 || count > kMaxCount)
    stop(t, Fault::Mbarrier, site, "of %u arrivals; there are 1 to %u", count, kMaxCount);
  uint32_t number = uint32_t(block.mbarriers.size());
  if (number == kMaxMbarriers)
    stop(t, Fault::Mbarrier, site, "the emulator has %u of a block", kMaxMbarriers);
  for (uint32_t i = place >> block.kernel->granuleLog2; i <= (place + kMbarrierBytes - 1) >> block.kernel->granuleLog2;
       ++i)
    block.cells[i].flags |= kBarrier;
  uint32_t *clocks =
      block.clocks.data() + (size_t(block.threadCount) + block.warpgroups.size() + 2 * number) * block.slots;
  std::fill(clocks, clocks + 2 * size_t(block.slots), 0);
  block.mbarriers.push_back({&block, number, place, count, count, 0, 0, accessOf(t, block.warps[t.warp], false), t.id,
                             site, false, clocks, clocks + block.slots});
}

void mpc_emu_mbarrier_fence(mpc_emu_thread *thread) {
  Thread &t = *static_cast<Thread *>(thread);
  for (Mbarrier &b : t.parent->mbarriers)
    b.fenced |= b.initThread == t.id;
}

void mpc_emu_mbarrier_arrive(mpc_emu_thread *thread, uint64_t barrier, uint32_t block, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  Block &of = block == MPC_EMU_OWN_BLOCK ? *t.parent : blockOfCluster(t, block, site);
  arrive(t, findMbarrier(t, of, barrier, site), site);
}

void mpc_emu_mbarrier_expect(mpc_emu_thread *thread, uint64_t barrier, uint32_t bytes, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  Mbarrier &b = findMbarrier(t, *t.parent, barrier, site);
  b.expected += bytes;
  if (b.expected > kMaxCount)
    stop(t, Fault::Mbarrier, site, "expects %lld bytes in phase %u; at most %u can be counted",
         static_cast<long long>(b.expected), b.phase, kMaxCount);
  arrive(t, b, site);
}

void mpc_emu_mbarrier_wait(mpc_emu_thread *thread, uint64_t barrier, uint32_t parity, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  Mbarrier &b = findMbarrier(t, *t.parent, barrier, site);
  if (parity > 1)
    stop(t, Fault::Mbarrier, site, "there is no parity %u", parity);
  if ((b.phase & 1) == parity) {
    t.async->mbarrier = &b, t.async->phase = b.phase, t.site = site, t.state = State::AtMbarrier;
    t.async->next = b.waiting, b.waiting = &t;
    suspend(t);
    if (b.phase != t.async->phase + 1)
      stop(t, Fault::Mbarrier, site,
           "phase %u ended as well before this thread saw the end of phase %u: the next arrivals must wait "
           "for it",
           b.phase - 1, t.async->phase);
  }
  b.seen = std::max(b.seen, b.phase);
  acquire(t, b.ended);
}

void mpc_emu_async_fence(mpc_emu_thread *thread) {
  Thread &t = *static_cast<Thread *>(thread);
  t.async->fences.push_back(t.epoch);
  endEpoch(t);
}
