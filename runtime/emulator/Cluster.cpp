// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Clusters: PTX ISA, "Parallel Synchronization and Communication Instructions: barrier.cluster".
//
// The blocks of a cluster run on one scheduler and have one set of clocks (Order.h). The barrier does not wait
// for threads that have exited.
#include "runtime/emulator/Block.h"

namespace mpc::rt::emulator {

/// Lets all waiting threads go on if all have arrived. `self`: the running thread, which need not be made ready.
static bool completeCluster(Block *blocks, uint32_t count, Thread &self) {
  uint32_t arrived = 0, live = 0;
  for (uint32_t b = 0; b < count; ++b)
    arrived += blocks[b].atCluster, live += blocks[b].live;
  if (arrived == 0 || arrived != live)
    return false;
  orderCluster(blocks, count);
  for (uint32_t b = 0; b < count; ++b) {
    blocks[b].atCluster = 0;
    for (uint32_t i = blocks[b].threadCount; i-- > 0;)
      if (Thread &t = blocks[b].threads[i]; &t != &self && t.state == State::AtClusterBarrier)
        wake(t);
  }
  return true;
}

void recheckCluster(Thread &exited) { completeCluster(exited.parent->cluster, exited.parent->clusterSize, exited); }

Block &blockOfCluster(Thread &t, uint32_t rank, uint32_t site) {
  Block &own = *t.parent;
  if (rank >= own.clusterSize)
    stop(t, Fault::Cluster, site, "there is no block %u in a cluster of %u", rank, own.clusterSize);
  Block &block = own.cluster[rank];
  if (block.live == 0)
    stop(t, Fault::Cluster, site, "block %u of the cluster has ended, and its shared memory with it", rank);
  return block;
}

} // namespace mpc::rt::emulator

using namespace mpc::rt::emulator;

uint32_t mpc_emu_cluster_rank(mpc_emu_thread *thread) { return static_cast<Thread *>(thread)->parent->rank; }

void mpc_emu_cluster_barrier(mpc_emu_thread *thread, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  Block &block = *t.parent;
  ++block.atCluster;
  t.site = site;
  if (completeCluster(block.cluster, block.clusterSize, t))
    return;
  t.state = State::AtClusterBarrier;
  suspend(t);
}
