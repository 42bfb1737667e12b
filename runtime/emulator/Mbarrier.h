// Barriers in shared memory: PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
#pragma once

#include "runtime/emulator/Block.h"

namespace mpc::rt::emulator {

/// A phase ends when `pending` arrivals and the bytes `expected` have come.
struct Mbarrier {
  Block *parent;
  uint32_t number, place;  ///< among the block's mbarriers; offset in shared memory
  uint32_t count, pending; ///< arrivals of a phase; of this one, to come
  uint32_t phase;          ///< phases that have ended
  int64_t expected;        ///< bytes of this phase that tensor_load has still to bring
  Access init;             ///< who made it one
  uint32_t initThread, initSite;
  bool fenced;                ///< an mbarrier_fence came behind
  uint32_t *arriving, *ended; ///< clocks: of the arrivals so far, of those up to the end of the last phase
  Thread *waiting = nullptr;  ///< for the end of this phase
  std::vector<TensorCopy> loads = {}; ///< that it counts and whose bytes have not arrived, oldest first
  uint32_t loaded = 0,
           seen =
               0; ///< phases up to the last in which bytes arrived; up to the last that somebody waited for
};

/// The mbarrier at a device address in `block`; a finding where there is none, or the thread need not know of
/// it yet.
Mbarrier &findMbarrier(Thread &t, Block &block, uint64_t address, uint32_t site);
/// Lets bytes arrive if nothing else is missing, and ends the phase if nothing is. `self`: the thread that
/// runs.
void completePhase(Mbarrier &barrier, Thread &self);
/// The finding of `count` threads that wait for ever as t does, while `other` (or null) waits elsewhere.
void describeWait(const Thread &t, const Thread *other, uint32_t count, Finding &finding);

} // namespace mpc::rt::emulator
