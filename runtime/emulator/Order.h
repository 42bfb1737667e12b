// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keeps track of what happened before what, by epochs of warps or clocks of threads.
//
// If only whole warps wait for each other (barriers, warp_sync), one epoch per warp is enough. Mbarriers order single
// threads, and asynchronous units act beside the threads. In kernels with those, everything that acts has a slot of a
// vector clock (Mattern 1989): first the threads, then the mbarriers (for the tensor_loads that they count), then the
// warpgroups (for the reads of their wgmmas). An access carries the slot and the epoch of its originator. A thread that
// releases (arrives) hands its clock on and begins a new epoch; a thread that acquires (waits) takes the maximum.
#pragma once

#include "runtime/emulator/Block.h"

namespace mpc::rt::emulator {

inline uint32_t slotOf(Access a) { return (a >> (kEpochBits + 1)) - 1; }
inline bool isAtomic(Access a) { return a >> kEpochBits & 1; }
inline uint32_t epochOf(Access a) { return a & ((1u << kEpochBits) - 1); }
inline Access makeAccess(uint32_t slot, uint32_t epoch, bool atomic = false) {
  return (slot + 1) << (kEpochBits + 1) | uint32_t(atomic) << kEpochBits | epoch;
}
inline Access accessOf(const Thread &t, const Warp &warp, bool atomic) {
  return t.known ? makeAccess(t.slot, t.epoch, atomic) : makeAccess(t.id, warp.epoch, atomic);
}

/// Returns whether an access happened before what thread t does now.
inline bool isOrdered(Access a, const Thread &t, const Warp &warp) {
  if (a == 0)
    return true;
  uint32_t other = slotOf(a);
  if (t.known)
    return epochOf(a) < t.known[other];
  if (other == t.id)
    return true;
  uint32_t otherWarp = other / kWarp;
  return epochOf(a) < (otherWarp == t.warp ? warp.epoch : warp.known[otherWarp]);
}

/// Sets up the clocks of a block that starts.
void startAsynchronous(Block &block);

/// Returns the number of slots of a block: those of threads, mbarriers and warpgroups.
constexpr uint32_t slotsOfBlock(uint32_t threads) { return threads + kMaxMbarriers + threads / kWarpgroup; }
constexpr uint32_t kMaxSlots =
    (1u << (31 - kEpochBits)) - 16; ///< slots of a cluster, limited so that an Access can hold the slot
inline uint32_t slotOfMbarrier(const Block &block, uint32_t number) {
  return block.firstSlot + block.threadCount + number;
}
inline uint32_t slotOfWarpgroup(const Block &block, uint32_t number) {
  return block.firstSlot + block.threadCount + kMaxMbarriers + number;
}

/// Sets into = max(into, from); count is a multiple of 16.
void joinClocks(uint32_t *into, const uint32_t *from, uint32_t count);
/// Hands on what the thread did and knows; its later accesses belong to a new epoch.
void release(Thread &t, uint32_t *into);
/// Lets the thread learn what `from` knows.
void acquire(Thread &t, const uint32_t *from);
/// Lets the thread learn that the slot's epochs below `epoch` are over.
void acquireSlot(Thread &t, uint32_t slot, uint32_t epoch);
/// Ends the epoch to which the thread's accesses so far belong.
void endEpoch(Thread &t);
/// Returns whether the thread that last wrote a cell fenced that write (async_fence) and the clock's owner knows of
/// the fence.
bool isFenced(const Block &block, Access write, const uint32_t *clock);

} // namespace mpc::rt::emulator
