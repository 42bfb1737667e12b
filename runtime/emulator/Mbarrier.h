// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Barriers in shared memory: PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier".
#pragma once

#include "runtime/emulator/Block.h"

namespace mpc::rt::emulator {

/// A phase ends when its `pending` arrivals and its `expected` bytes have come.
struct Mbarrier {
  Block *parent;
  uint32_t number, place;  ///< number among the block's mbarriers; offset in shared memory
  uint32_t count, pending; ///< arrivals of a phase; arrivals that this phase still misses
  uint32_t phase;          ///< number of phases that have ended
  int64_t expected;        ///< bytes of this phase that tensor_loads have yet to bring
  Access init;             ///< the access that initialised it
  uint32_t initThread, initSite;
  bool fenced; ///< an mbarrier_fence came after the initialisation
  uint32_t *arriving,
      *ended; ///< clocks: that of the arrivals so far, and that of the arrivals up to the end of the last phase
  Thread *waiting = nullptr;          ///< list of threads that wait for the end of this phase
  std::vector<TensorCopy> loads = {}; ///< loads that it counts and whose bytes have not arrived, oldest first
  uint32_t loaded = 0;                ///< the number of phases up to the last one in which bytes arrived
  uint32_t seen = 0;                  ///< the number of phases up to the last one that a thread waited for
};

/// Returns the mbarrier at a device address in `block`; makes a finding if there is none, or if the thread may
/// not know of it yet.
Mbarrier &findMbarrier(Thread &t, Block &block, uint64_t address, uint32_t site);
/// Lets the bytes arrive if nothing else is missing, and ends the phase if nothing is missing then. `self`: the
/// thread that runs.
void completePhase(Mbarrier &barrier, Thread &self);
/// Writes the finding for `count` threads that wait for ever as t does, while `other` (or null) waits elsewhere.
void describeWait(const Thread &t, const Thread *other, uint32_t count, Finding &finding);

} // namespace mpc::rt::emulator
