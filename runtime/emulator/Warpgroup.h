// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Four warps that compute a product together (wgmma), besides their other operations.
#pragma once

#include "runtime/emulator/Block.h"

namespace mpc::rt::emulator {

struct Warpgroup {
  uint32_t number, arrived;
  uint32_t site;        ///< site of the op at which they meet
  uint32_t lastProduct; ///< site of the last wgmma
  std::vector<uint32_t>
      reads; ///< pieces of 16 bytes that wgmmas in flight read, as offsets in shared memory, oldest first
  std::vector<uint32_t> groups; ///< sizes of the committed groups of reads; later reads are not committed yet
  uint32_t committed, retired;  ///< numbers of groups
  uint32_t *agreed;             ///< the clock of what all its threads know: the minimum of their clocks
  bool stale;                   ///< true after a clock has changed since `agreed` was computed
  uint32_t registers;           ///< registers of a thread

  void start(uint32_t number, uint32_t *clock);
};

/// Waits for the other threads of the warpgroup at the same op; the last one to arrive calls
/// complete(warpgroup, its thread). `complete` returns whether the threads may go on; otherwise another thread wakes
/// them later.
void meetWarpgroup(Thread &t, uint32_t site, bool (*complete)(Warpgroup &group, Thread &self));
/// Returns the thread's warpgroup; makes a finding if it has none because the block has too few threads.
Warpgroup &warpgroupOf(Thread &t, uint32_t site);

/// Gives a block's warpgroups the registers that they start with.
void startRegisters(Block &block);
void describeRegisters(const Thread &t, Finding &finding);

} // namespace mpc::rt::emulator
