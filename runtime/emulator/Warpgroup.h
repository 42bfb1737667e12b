// Four warps that compute a product together (wgmma), beside what they do otherwise.
#pragma once

#include "runtime/emulator/Block.h"

namespace mpc::rt::emulator {

struct Warpgroup {
  uint32_t number, arrived;
  uint32_t site;        ///< where they meet
  uint32_t lastProduct; ///< site of the last wgmma
  std::vector<uint32_t>
      reads; ///< 16 bytes each that wgmmas under way read, by their offset in shared memory, oldest first
  std::vector<uint32_t>
      groups; ///< sizes of the committed groups of reads; those behind them are not committed yet
  uint32_t committed, retired; ///< groups
  uint32_t *agreed;            ///< what all its threads know: the minimum of their clocks
  bool stale;                  ///< a clock has changed since `agreed` was computed
  uint32_t registers;          ///< of a thread

  void start(uint32_t number, uint32_t *clock);
};

/// Waits for the other threads of the warpgroup at the same op; the last one to come calls
/// complete(warpgroup, its thread). `complete` returns whether the threads may go on; otherwise someone wakes
/// them later.
void meetWarpgroup(Thread &t, uint32_t site, bool (*complete)(Warpgroup &group, Thread &self));
/// A finding where the thread is of none, the block having too few threads.
Warpgroup &warpgroupOf(Thread &t, uint32_t site);

/// The registers that a block starts with.
void startRegisters(Block &block);
void describeRegisters(const Thread &t, Finding &finding);

} // namespace mpc::rt::emulator
