// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// bar.sync: PTX ISA, "Parallel Synchronization and Communication Instructions: barrier".
//
// Warps take part as a whole (.aligned): all lanes of a warp must meet at the same op. Without a count a barrier waits
// for every thread of the block that has not exited. A warp that exited as a whole does not count; lanes that exited
// alone make their warp divergent.
#include "runtime/emulator/Block.h"

namespace mpc::rt::emulator {

/// Lets all waiting threads go on if all have arrived. `self`: the running thread, which need not be made ready.
static void completeIfFull(Block &block, Barrier &b, Thread &self) {
  if (b.arrived == 0 || b.arrived != (b.expected ? b.expected : block.live))
    return;
  for (uint32_t w = 0; w < kMaxWarps; ++w) {
    if (!(b.warps >> w & 1) || b.lanes[w] == ~0u)
      continue;
    Thread &missing = block.threads[w * kWarp + __builtin_ctz(~b.lanes[w])];
    Thread &here = block.threads[w * kWarp + __builtin_ctz(b.lanes[w])];
    stop(here, Fault::DivergentBarrier, b.site[w], "thread %u of the same warp %s%s", missing.id,
         missing.state == State::Exited  ? "has exited"
         : missing.state == State::Ready ? "is elsewhere"
                                         : "waits at ",
         missing.state == State::Exited || missing.state == State::Ready ? ""
                                                                         : block.kernel->sites[missing.site].c_str());
  }
  uint32_t joined = b.warps;
  if (!b.expected) // exited threads have done all that they will do, so it is ordered too
    for (uint32_t w = 0; w < block.threadCount / kWarp; ++w)
      joined |= uint32_t(block.warps[w].live == 0) << w;
  orderMemory(block, joined);
  // The warps are pushed to the front in reverse, so that the first warp goes on first.
  for (uint32_t w = kMaxWarps; w-- > 0;)
    if (b.warps >> w & 1)
      for (uint32_t lane = kWarp; lane-- > 0;) {
        Thread &t = block.threads[w * kWarp + lane];
        if (&t == &self)
          continue;
        t.state = State::Ready;
        block.scheduler->pushFront(&t);
      }
  b.arrived = b.warps = 0;
  block.openBarriers &= ~(1u << (&b - block.barriers));
}

void recheckBarriers(Thread &exited) {
  Block &block = *exited.parent;
  for (uint32_t open = block.openBarriers; open; open &= open - 1)
    completeIfFull(block, block.barriers[__builtin_ctz(open)], exited);
}

} // namespace mpc::rt::emulator

using namespace mpc::rt::emulator;

void mpc_emu_barrier(mpc_emu_thread *thread, uint32_t id, uint32_t threads, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  Block &block = *t.parent;
  if (id >= kBarriers)
    stop(t, Fault::DivergentBarrier, site, "there is no barrier %u, only 0 to %u", id, kBarriers - 1);
  Barrier &b = block.barriers[id];
  if (b.arrived == 0)
    b.expected = threads;
  else if (b.expected != threads)
    stop(t, Fault::DivergentBarrier, site, "waits for %u threads where others wait for %u", threads, b.expected);
  if (b.warps >> t.warp & 1) {
    if (b.site[t.warp] != site)
      stop(t, Fault::DivergentBarrier, site, "other threads of the same warp wait at %s",
           block.kernel->sites[b.site[t.warp]].c_str());
  } else {
    b.warps |= 1u << t.warp;
    b.lanes[t.warp] = 0;
    b.site[t.warp] = site;
  }
  b.lanes[t.warp] |= 1u << t.id % kWarp;
  ++b.arrived;
  block.openBarriers |= 1u << id;
  t.site = site;
  t.state = State::AtBarrier;
  completeIfFull(block, b, t);
  if (b.arrived != 0)
    suspend(t);
  t.state = State::Ready;
}
