// The shadow of shared memory, for the units that read and write it beside the threads.
#pragma once

#include "runtime/emulator/Block.h"

namespace mpc::rt::emulator {

/// A place in shared memory as messages name it.
struct Place {
  uint32_t piece, byte;
};
Place placeOf(const Block &block, uint32_t place);

[[noreturn]] void copyUnderWay(Thread &t, const Cell &cell, const char *what, uint32_t site);
[[noreturn]] void inUse(Thread &t, uint32_t place, const Cell &cell, uint32_t site);

/// An asynchronous unit starts to read 16 bytes at `place` for thread t: they must have been written, that
/// write be known by `clock`, and, where it was a store's or copy_async's, fenced.
void checkAsyncRead(Thread &t, const uint32_t *clock, uint32_t place, uint32_t site);

/// One starts to write 16 bytes at `place` of `block`: nobody may use them, and what was done with them before must be known by the thread.
void checkAsyncWrite(Thread &t, Block &block, uint32_t place, uint32_t site);
/// A unit has read the cell, for who has this clock.
void noteRead(Cell &cell, Access read, const uint32_t *clock);

/// Calls what(cell) for the cells of `bytes` bytes at `place`.
template <typename What>
inline void forCells(Block &block, uint32_t place, uint32_t bytes, What what) {
  uint32_t shift = block.kernel->granuleLog2;
  for (uint32_t i = place >> shift, last = (place + bytes - 1) >> shift; i <= last; ++i)
    what(block.cells[i]);
}

} // namespace mpc::rt::emulator
