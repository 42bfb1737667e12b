// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lets the threads of a warpgroup meet, and implements setmaxnreg: PTX ISA, "Miscellaneous Instructions: setmaxnreg".
#include "runtime/emulator/Warpgroup.h"

#include "runtime/emulator/Order.h"

#include <cstdio>

namespace mpc::rt::emulator {

void Warpgroup::start(uint32_t itsNumber, uint32_t *clock) {
  number = itsNumber;
  arrived = site = lastProduct = committed = retired = 0;
  reads.clear(), groups.clear();
  agreed = clock, stale = true;
}

Warpgroup &warpgroupOf(Thread &t, uint32_t site) {
  Block &block = *t.parent;
  uint32_t number = t.id / kWarpgroup;
  if (number >= block.warpgroups.size())
    stop(t, Fault::DivergentWarp, site, "thread %u is of no whole warpgroup, the block having %u threads", t.id,
         block.threadCount);
  return block.warpgroups[number];
}

void meetWarpgroup(Thread &t, uint32_t site, bool (*complete)(Warpgroup &group, Thread &self)) {
  Block &block = *t.parent;
  Warpgroup &group = warpgroupOf(t, site);
  Thread *lanes = &block.threads[group.number * kWarpgroup];
  if (group.arrived == 0)
    group.site = site;
  else if (group.site != site)
    stop(t, Fault::DivergentWarp, site, "other threads of the warpgroup wait at %s",
         block.kernel->sites[group.site].c_str());
  t.site = site;
  t.state = State::InWarpgroup;
  if (++group.arrived == kWarpgroup) {
    for (uint32_t i = 0; i < kWarpgroup; ++i)
      if (lanes[i].async->trail != t.async->trail)
        stop(lanes[i], Fault::DivergentWarp, site,
             "this thread and thread %u came here past different wgmma_fences, commits or waits", t.id);
    group.arrived = 0;
    if (complete(group, t)) {
      for (uint32_t i = kWarpgroup; i-- > 0;)
        if (&lanes[i] != &t)
          wake(lanes[i]);
      t.state = State::Ready;
      return;
    }
  }
  suspend(t);
}

//===-- Registers ------------------------------------------------------------------------------===//

void startRegisters(Block &block) {
  block.freeRegisters = 0; // all registers of the block belong to its threads
  for (Warpgroup &group : block.warpgroups)
    group.registers = block.kernel->registers;
}

/// Takes the additional registers that the warpgroup wants from the block's free ones; returns false if
/// there are not enough.
static bool increase(Block &block, Warpgroup &group, uint32_t count) {
  uint32_t more = (count - group.registers) * kWarpgroup;
  if (more > block.freeRegisters)
    return false;
  block.freeRegisters -= more;
  group.registers = count;
  return true;
}

static bool setRegisters(Warpgroup &group, Thread &self) {
  Block &block = *self.parent;
  uint32_t count = self.value;
  bool more = self.mode;
  if (more ? count < group.registers : count > group.registers)
    stop(self, Fault::Registers, group.site, "%s to %u registers of a thread that has %u",
         more ? "increases" : "decreases", count, group.registers);
  if (more) {
    if (increase(block, group, count))
      return true;
    for (uint32_t i = 0; i < kWarpgroup; ++i)
      block.threads[group.number * kWarpgroup + i].state = State::AtRegisters;
    return false;
  }
  block.freeRegisters += (group.registers - count) * kWarpgroup;
  group.registers = count;
  for (Warpgroup &other : block.warpgroups) {
    Thread *lanes = &block.threads[other.number * kWarpgroup];
    if (lanes[0].state == State::AtRegisters && increase(block, other, lanes[0].value))
      for (uint32_t i = kWarpgroup; i-- > 0;)
        wake(lanes[i]);
  }
  return true;
}

void describeRegisters(const Thread &t, Finding &finding) {
  const Block &block = *t.parent;
  std::snprintf(finding.detail, sizeof finding.detail,
                "the warpgroup waits for ever for %u registers a thread: it has %u, and the block has %u left", t.value,
                block.warpgroups[t.id / kWarpgroup].registers, block.freeRegisters);
}

} // namespace mpc::rt::emulator

using namespace mpc::rt::emulator;

void mpc_emu_set_registers(mpc_emu_thread *thread, uint32_t count, uint32_t increase, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  t.value = count, t.mode = increase;
  meetWarpgroup(t, site, setRegisters);
}
