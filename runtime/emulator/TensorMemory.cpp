// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tensor memory accelerator: PTX ISA, "Data Movement and Conversion Instructions: cp.async.bulk.tensor".
//
// A tensor_load keeps its target from everybody until the phase of its mbarrier ends. Then its bytes arrive
// and count as written by the mbarrier's slot (Order.h): a thread that has not waited for that phase may not touch
// them. A tensor_store reads its source when it is awaited, and keeps other threads from writing it until then.
#include "runtime/emulator/TensorMemory.h"

#include "runtime/emulator/Memory.h"
#include "runtime/emulator/Order.h"

#include <cstdio>

namespace mpc::rt::emulator {

constexpr uint32_t kLog2Alignment =
    7; ///< alignment of a box in shared memory; swizzled ones start where their pattern does

static const TensorMap &findMap(Thread &t, uint32_t number, bool write, uint32_t site) {
  const Block &block = *t.parent;
  Fault beyond = write ? Fault::OutOfBoundsWrite : Fault::OutOfBoundsRead;
  if (number >= block.kernel->maps.size())
    stop(t, beyond, site, "there is no tensor map %u", number);
  const TensorMap &map = block.kernel->maps[number];
  const Buffer &buffer = block.buffers[map.buffer];
  if (reinterpret_cast<uintptr_t>(buffer.data) % 16 != 0)
    stop(t, Fault::Misaligned, site, "buffer %u of tensor map %u is not aligned to 16", map.buffer, number);
  if (map.tensorBytes() < 0 || uint64_t(map.tensorBytes()) > buffer.bytes)
    stop(t, beyond, site, "tensor map %u is of %lld bytes of buffer %u, which has %llu", number,
         static_cast<long long>(map.tensorBytes()), map.buffer, static_cast<unsigned long long>(buffer.bytes));
  if (write && !buffer.writable)
    stop(t, Fault::ReadOnlyWrite, site, "tensor map %u is of buffer %u, an input", number, map.buffer);
  return map;
}

template <typename What>
static void forChunks(const TensorCopy &copy, What what) {
  for (uint32_t bytes = copy.map->boxBytes(), byte = 0; byte < bytes; byte += 16)
    what(copy.place + byte);
}

void arriveLoad(Mbarrier &b, const TensorCopy &load) {
  Block &block = *b.parent;
  loadBox(*load.map, load.position, static_cast<const char *>(block.buffers[load.map->buffer].data), block.shared,
          load.place);
  Access write = makeAccess(slotOfMbarrier(block, b.number), b.phase);
  forCells(block, load.place, load.map->boxBytes(), [&](Cell &cell) { cell = {write, {}, 0, 0, 0, kWritten}; });
}

bool checkLoads(const Block &block, Finding &finding) {
  for (const Mbarrier &b : block.mbarriers) {
    if (b.loads.empty() && b.loaded <= b.seen)
      continue;
    finding.fault = Fault::UnawaitedLoad;
    std::copy(block.index, block.index + 3, finding.block);
    finding.thread = b.loads.empty() ? b.initThread : b.loads.front().thread;
    finding.site = b.loads.empty() ? b.initSite : b.loads.front().site;
    std::snprintf(finding.detail, sizeof finding.detail,
                  "the block ends, and nobody has waited for the end of phase %u of the mbarrier of %s",
                  b.loads.empty() ? b.loaded - 1 : b.phase, block.kernel->sites[b.initSite].c_str());
    return false;
  }
  return true;
}

/// Completes the oldest group of stores.
static void completeStores(Thread &t) {
  Block &block = *t.parent;
  Access mine = accessOf(t, block.warps[t.warp], false);
  uint32_t count = t.async->storeGroups.front();
  for (uint32_t i = 0; i < count; ++i) {
    const TensorCopy &store = t.async->stores[i];
    storeBox(*store.map, store.position, static_cast<char *>(block.buffers[store.map->buffer].data), block.shared,
             store.place);
    forCells(block, store.place, store.map->boxBytes(), [&](Cell &cell) {
      --cell.stores;
      noteRead(cell, mine, t.known);
    });
  }
  t.async->stores.erase(t.async->stores.begin(), t.async->stores.begin() + count);
  t.async->storeGroups.erase(t.async->storeGroups.begin());
}

void checkStores(Thread &t) {
  if (!t.async->stores.empty())
    stop(t, Fault::UnawaitedStore, t.async->stores.front().site,
         "the thread ends while %u of its tensor_stores are under way", uint32_t(t.async->stores.size()));
}

} // namespace mpc::rt::emulator

using namespace mpc::rt::emulator;

void mpc_emu_tensor_load(mpc_emu_thread *thread, uint64_t to, uint64_t barrier, uint32_t map, int32_t c0, int32_t c1,
                         int32_t c2, int32_t c3, int32_t c4, uint32_t o0, uint32_t o1, uint32_t o2, uint32_t blocks,
                         uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  TensorCopy load{&findMap(t, map, /*write=*/false, site), {{c0, c1, c2, c3, c4}, {0, o0, o1, o2, 0}}, 0, t.id, site};
  load.place = locateShared(t, to, load.map->boxBytes(), kLog2Alignment + load.map->swizzle, /*write=*/true, site);
  auto start = [&](Block &block) {
    Mbarrier &b = findMbarrier(t, block, barrier, site);
    if (!b.fenced)
      stop(t, Fault::Mbarrier, site, "no mbarrier_fence came behind its initialisation by thread %u", b.initThread);
    forChunks(load, [&](uint32_t place) { checkAsyncWrite(t, block, place, site); });
    forCells(block, load.place, load.map->boxBytes(),
             [&](Cell &cell) { cell = {0, {}, uint16_t(t.id + 1), 0, 0, kLoading}; });
    b.loads.push_back(load);
    completePhase(b, t);
  };
  if (blocks == 0)
    return start(*t.parent);
  for (uint32_t rank = 0; rank < 32; ++rank)
    if (blocks >> rank & 1)
      start(blockOfCluster(t, rank, site));
}

void mpc_emu_tensor_store(mpc_emu_thread *thread, uint64_t from, uint32_t map, int32_t c0, int32_t c1, int32_t c2,
                          int32_t c3, int32_t c4, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  TensorCopy store{&findMap(t, map, /*write=*/true, site), {{c0, c1, c2, c3, c4}, {}}, 0, t.id, site};
  store.place = locateShared(t, from, store.map->boxBytes(), kLog2Alignment + store.map->swizzle,
                             /*write=*/false, site);
  forChunks(store, [&](uint32_t place) { checkAsyncRead(t, t.known, place, site); });
  forCells(*t.parent, store.place, store.map->boxBytes(), [&](Cell &cell) { ++cell.stores; });
  t.async->stores.push_back(store);
}

void mpc_emu_tensor_store_commit(mpc_emu_thread *thread) {
  Thread &t = *static_cast<Thread *>(thread);
  uint32_t committed = 0;
  for (uint32_t size : t.async->storeGroups)
    committed += size;
  t.async->storeGroups.push_back(uint32_t(t.async->stores.size()) - committed);
}

void mpc_emu_tensor_store_wait(mpc_emu_thread *thread, uint32_t pending) {
  Thread &t = *static_cast<Thread *>(thread);
  while (t.async->storeGroups.size() > pending)
    completeStores(t);
}
