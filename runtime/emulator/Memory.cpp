// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Checked accesses to global and shared memory, and cp.async.
#include "runtime/emulator/Memory.h"

#include "runtime/emulator/Order.h"

#include <cstdio>
#include <cstring>

namespace mpc::rt::emulator {

static constexpr uint64_t kOffsetMask = (1ull << MPC_EMU_OFFSET_BITS) - 1;

static int64_t offsetOf(uint64_t address) { return int64_t(address & kOffsetMask) - int64_t(MPC_EMU_BIAS); }

static void checkAlignment(Thread &t, const void *memory, uint32_t bytes, uint32_t log2Alignment, const char *space,
                           uint32_t site) {
  if (reinterpret_cast<uintptr_t>(memory) & ((1u << log2Alignment) - 1))
    stop(t, Fault::Misaligned, site, "an access of %u bytes in %s memory is not aligned to %u", bytes, space,
         1u << log2Alignment);
}

char *locateGlobal(Thread &t, uint64_t address, uint32_t bytes, uint32_t access, uint32_t site) {
  const Block &block = *t.parent;
  uint64_t number = (address >> MPC_EMU_OFFSET_BITS) - 1;
  bool write = access >> 8 != MPC_EMU_READ;
  Fault beyond = write ? Fault::OutOfBoundsWrite : Fault::OutOfBoundsRead;
  if (number >= block.kernel->buffers)
    stop(t, beyond, site, "%u bytes at no buffer's address (%#llx)", bytes, static_cast<unsigned long long>(address));
  const Buffer &buffer = block.buffers[number];
  int64_t offset = offsetOf(address);
  if (offset < 0 || uint64_t(offset) + bytes > buffer.bytes)
    stop(t, beyond, site, "%u bytes at byte %lld of buffer %u, which has %llu", bytes, static_cast<long long>(offset),
         unsigned(number), static_cast<unsigned long long>(buffer.bytes));
  if (write && !buffer.writable)
    stop(t, Fault::ReadOnlyWrite, site, "%u bytes at byte %lld of buffer %u, an input", bytes,
         static_cast<long long>(offset), unsigned(number));
  char *memory = static_cast<char *>(buffer.data) + offset;
  checkAlignment(t, memory, bytes, access & 0xFF, "global", site);
  return memory;
}

uint32_t locateShared(Thread &t, uint64_t address, uint32_t bytes, uint32_t log2Alignment, bool write, uint32_t site) {
  const Block &block = *t.parent;
  uint32_t number =
      address >> MPC_EMU_OFFSET_BITS & 0x7FFF; // the block in the cluster, which is always 0 here, and the piece
  Fault beyond = write ? Fault::OutOfBoundsWrite : Fault::OutOfBoundsRead;
  if (!(address >> 63) || number >= block.kernel->shared.size())
    stop(t, beyond, site, "%u bytes at no address of shared memory (%#llx)", bytes,
         static_cast<unsigned long long>(address));
  const Kernel::Piece &piece = block.kernel->shared[number];
  int64_t offset = offsetOf(address);
  if (offset < 0 || uint64_t(offset) + bytes > piece.bytes)
    stop(t, beyond, site, "%u bytes at byte %lld of piece %u of shared memory, which has %u", bytes,
         static_cast<long long>(offset), number, piece.bytes);
  uint32_t place = piece.offset + uint32_t(offset);
  checkAlignment(t, block.shared + place, bytes, log2Alignment, "shared", site);
  return place;
}

//===-- The shadow of shared memory ----------------------------------------------------------===//

Place placeOf(const Block &block, uint32_t place) {
  const auto &pieces = block.kernel->shared;
  uint32_t piece = 0;
  while (piece + 1 < pieces.size() && pieces[piece + 1].offset <= place)
    ++piece;
  return {piece, place - pieces[piece].offset};
}

[[noreturn]] static void race(Thread &t, uint32_t place, Access other, const char *mine, const char *theirs,
                              uint32_t site) {
  const Block &block = *t.parent;
  auto [piece, byte] = placeOf(block, place);
  uint32_t own = slotsOfBlock(block.threadCount), rank = slotOf(other) / own, slot = slotOf(other) % own;
  char where[32] = "";
  if (rank != block.rank)
    std::snprintf(where, sizeof where, " of block %u of the cluster", rank);
  if (slot < block.threadCount)
    stop(t, Fault::Race, site,
         "%s of byte %u of piece %u of shared memory without a barrier after the %s by thread %u%s", mine, byte, piece,
         theirs, slot, where);
  if (slot < block.threadCount + kMaxMbarriers)
    stop(t, Fault::UnawaitedLoad, site,
         "%s of byte %u of piece %u of shared memory, of which this thread does not know that its tensor_load is done",
         mine, byte, piece);
  stop(t, Fault::Race, site,
       "%s of byte %u of piece %u of shared memory without a barrier after the %s by wgmma of warpgroup %u%s", mine,
       byte, piece, theirs, slot - block.threadCount - kMaxMbarriers, where);
}

void copyUnderWay(Thread &t, const Cell &cell, const char *what, uint32_t site) {
  stop(t, cell.flags & kLoading ? Fault::UnawaitedLoad : Fault::UnawaitedCopy, site,
       "%s of shared memory that a copy started by thread %u may not have reached", what, cell.copier - 1u);
}

void inUse(Thread &t, uint32_t place, const Cell &cell, uint32_t site) {
  auto [piece, byte] = placeOf(*t.parent, place);
  stop(t, Fault::InUse, site, "byte %u of piece %u of shared memory is in use by %s", byte, piece,
       cell.products ? "wgmma" : "tensor_store");
}

static void checkCells(Thread &t, uint32_t place, uint32_t bytes, uint32_t kind, uint32_t site) {
  Block &block = *t.parent;
  const Warp &warp = block.warps[t.warp];
  uint32_t shift = block.kernel->granuleLog2, last = (place + bytes - 1) >> shift;
  Access mine = accessOf(t, warp, kind == MPC_EMU_ATOMIC);
  for (uint32_t i = place >> shift; i <= last; ++i) {
    Cell &cell = block.cells[i];
    if (cell.copier)
      copyUnderWay(t, cell, kind == MPC_EMU_WRITE ? "write" : "read", site);
    if (kind != MPC_EMU_READ && (cell.products || cell.stores))
      inUse(t, i << shift, cell, site);
    if (cell.flags & kBarrier)
      stop(t, Fault::Mbarrier, site, "%u bytes of shared memory of which byte %u is part of an mbarrier", bytes,
           i << shift > place ? (i << shift) - place : 0);
    if (kind != MPC_EMU_WRITE && !(cell.flags & kWritten))
      stop(t, Fault::Uninitialized, site, "%u bytes of shared memory, of which byte %u was never written", bytes,
           i << shift > place ? (i << shift) - place : 0);
    if (!block.racesKnown) {
      if (kind != MPC_EMU_READ)
        cell.flags = kWritten | kGeneric;
      continue;
    }
    bool bothAtomic = kind == MPC_EMU_ATOMIC && isAtomic(cell.write);
    if (!bothAtomic && !isOrdered(cell.write, t, warp))
      race(t, i << shift, cell.write, kind == MPC_EMU_READ ? "read" : "write", "write", site);
    if (kind == MPC_EMU_READ) {
      // The new read replaces one that is ordered before it: whatever is ordered after the new read is also ordered
      // after the old one.
      if (cell.reads[0] != mine)
        cell.reads[isOrdered(cell.reads[0], t, warp) ? 0 : 1] = mine;
      continue;
    }
    for (Access read : cell.reads)
      if (!isOrdered(read, t, warp))
        race(t, i << shift, read, "write", "read", site);
    cell.write = mine;
    cell.reads[0] = cell.reads[1] = 0;
    cell.flags = kWritten | kGeneric;
  }
}

uint32_t checkShared(Thread &t, uint64_t address, uint32_t bytes, uint32_t access, uint32_t site) {
  uint32_t kind = access >> 8;
  uint32_t place = locateShared(t, address, bytes, access & 0xFF, kind != MPC_EMU_READ, site);
  checkCells(t, place, bytes, kind, site);
  return place;
}

void checkAsyncRead(Thread &t, const uint32_t *clock, uint32_t place, uint32_t site) {
  Block &block = *t.parent;
  uint32_t shift = block.kernel->granuleLog2;
  for (uint32_t i = place >> shift, last = (place + 15) >> shift; i <= last; ++i) {
    const Cell &cell = block.cells[i];
    if (cell.copier)
      copyUnderWay(t, cell, "read", site);
    if (!(cell.flags & kWritten)) {
      auto [piece, byte] = placeOf(block, i << shift);
      stop(t, Fault::Uninitialized, site, "byte %u of piece %u of shared memory was never written", byte, piece);
    }
    if (!block.racesKnown)
      continue;
    if (epochOf(cell.write) >= clock[slotOf(cell.write)])
      race(t, i << shift, cell.write, "read", "write", site);
    if (cell.flags & kGeneric && !isFenced(block, cell.write, clock)) {
      auto [piece, byte] = placeOf(block, i << shift);
      stop(t, Fault::MissingFence, site,
           "thread %u wrote byte %u of piece %u of shared memory and passed no async_fence before the barrier behind",
           slotOf(cell.write) - block.firstSlot, byte, piece);
    }
  }
}

void checkAsyncWrite(Thread &t, Block &block, uint32_t place, uint32_t site) {
  uint32_t shift = block.kernel->granuleLog2;
  for (uint32_t i = place >> shift, last = (place + 15) >> shift; i <= last; ++i) {
    const Cell &cell = block.cells[i];
    if (cell.copier)
      copyUnderWay(t, cell, "write", site);
    if (cell.products || cell.stores)
      inUse(t, i << shift, cell, site);
    if (cell.flags & kBarrier) {
      auto [piece, byte] = placeOf(block, i << shift);
      stop(t, Fault::Mbarrier, site, "byte %u of piece %u of shared memory is part of an mbarrier", byte, piece);
    }
    if (!block.racesKnown)
      continue;
    const Warp &warp = block.warps[t.warp];
    if (!isOrdered(cell.write, t, warp))
      race(t, i << shift, cell.write, "write", "write", site);
    for (Access read : cell.reads)
      if (!isOrdered(read, t, warp))
        race(t, i << shift, read, "write", "read", site);
  }
}

void noteRead(Cell &cell, Access read, const uint32_t *clock) {
  if (cell.reads[0] == read)
    return;
  // The new read replaces one that is ordered before it, as in checkCells, or an earlier read of the same slot.
  Access first = cell.reads[0];
  bool replaces = first == 0 || slotOf(first) == slotOf(read) || epochOf(first) < clock[slotOf(first)];
  cell.reads[replaces ? 0 : 1] = read;
}

//===-- cp.async -----------------------------------------------------------------------------===//

/// Lets the oldest `count` copies arrive.
static void arrive(Thread &t, uint32_t count) {
  Block &block = *t.parent;
  Access mine = accessOf(t, block.warps[t.warp], false);
  for (uint32_t i = 0; i < count; ++i) {
    const AsyncCopy &copy = t.copies[i];
    if (copy.valid > 0) // otherwise `from` may be null
      std::memcpy(block.shared + copy.to, copy.from, copy.valid);
    std::memset(block.shared + copy.to + copy.valid, 0, copy.bytes - copy.valid);
    forCells(block, copy.to, copy.bytes, [&](Cell &cell) {
      cell.copier = 0;
      cell.write = mine;
      cell.flags = kWritten | kGeneric;
    });
  }
  t.copies.erase(t.copies.begin(), t.copies.begin() + count);
}

} // namespace mpc::rt::emulator

using namespace mpc::rt::emulator;

void *mpc_emu_global(mpc_emu_thread *thread, uint64_t address, uint32_t bytes, uint32_t access, uint32_t site) {
  return locateGlobal(*static_cast<Thread *>(thread), address, bytes, access, site);
}

void *mpc_emu_shared(mpc_emu_thread *thread, uint64_t address, uint32_t bytes, uint32_t access, uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  return t.parent->shared + checkShared(t, address, bytes, access, site);
}

void mpc_emu_copy_async(mpc_emu_thread *thread, uint64_t to, uint64_t from, uint32_t bytes, uint32_t valid,
                        uint32_t site) {
  Thread &t = *static_cast<Thread *>(thread);
  Block &block = *t.parent;
  if (valid > bytes)
    stop(t, Fault::OutOfBoundsRead, site, "%u valid bytes of %u", valid, bytes);
  uint32_t alignment = __builtin_ctz(bytes);
  // If no byte is valid, nothing is read, and any address is allowed.
  const char *source = valid ? locateGlobal(t, from, valid, alignment | MPC_EMU_READ << 8, site) : nullptr;
  // The copy may write from now on, so whoever used this memory before must be done with it.
  AsyncCopy copy{checkShared(t, to, bytes, alignment | MPC_EMU_WRITE << 8, site), uint8_t(bytes), uint8_t(valid),
                 source};
  forCells(block, copy.to, copy.bytes, [&](Cell &cell) {
    cell.copier = uint16_t(t.id + 1);
    cell.flags = 0;
  });
  t.copies.push_back(copy);
}

void mpc_emu_copy_async_commit(mpc_emu_thread *thread) {
  Thread &t = *static_cast<Thread *>(thread);
  uint32_t committed = 0;
  for (uint32_t size : t.groups)
    committed += size;
  t.groups.push_back(uint32_t(t.copies.size()) - committed);
}

void mpc_emu_copy_async_wait(mpc_emu_thread *thread, uint32_t pending) {
  Thread &t = *static_cast<Thread *>(thread);
  if (t.groups.size() <= pending)
    return;
  size_t done = t.groups.size() - pending;
  uint32_t count = 0;
  for (size_t i = 0; i < done; ++i)
    count += t.groups[i];
  arrive(t, count);
  t.groups.erase(t.groups.begin(), t.groups.begin() + long(done));
}
