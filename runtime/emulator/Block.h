// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The state of a block of GPU threads while it runs: each thread is a fiber, and all fibers run on one OS thread.
//
// Fibers switch to each other directly; the scheduler's own stack only starts a block and checks how it ended. Nothing
// here is global or thread-local: a fiber reaches everything through its Thread, so that the blocks of a cluster can
// share a scheduler.
//
// A fault abandons all fibers where they are. Functions that run on a fiber therefore must not own anything that a
// destructor would free.
#pragma once

#include "mpc/emulator.h"
#include "runtime/emulator/Emulator.h"
#include "runtime/emulator/Fiber.h"
#include "runtime/emulator/Finding.h"
#include "runtime/emulator/TensorMap.h"

#include <memory>
#include <vector>

namespace mpc::rt::emulator {

struct Block;
struct Scheduler;
struct Mbarrier;
struct Thread;
struct Warpgroup;
constexpr uint32_t kWarp = 32, kMaxWarps = MPC_EMU_MAX_THREADS / kWarp, kBarriers = 16;
constexpr uint32_t kWarpgroup = 128, kMaxWarpgroups = MPC_EMU_MAX_THREADS / kWarpgroup, kMaxMbarriers = 64;

enum class State : uint8_t { Ready, AtBarrier, AtClusterBarrier, AtMbarrier, AtRegisters, InWarp, InWarpgroup, Exited };

/// Operations that the threads of a warp do together.
enum class WarpOp : uint8_t { Sync, Shuffle, Vote, LoadMatrix, StoreMatrix, Mma };

/// A cp.async in flight; it is done when its group is awaited.
struct AsyncCopy {
  uint32_t to; ///< offset in the block's shared memory
  uint8_t bytes, valid;
  const char *from;
};

/// A tensor_load or tensor_store in flight.
struct TensorCopy {
  const TensorMap *map;
  BoxPosition position;
  uint32_t place;        ///< offset in the block's shared memory
  uint32_t thread, site; ///< thread and op that started it
};

/// The state of a thread's asynchronous operations.
struct Progress {
  std::vector<uint32_t> fences;      ///< epochs that ended with an async_fence, ascending
  std::vector<TensorCopy> stores;    ///< tensor_stores in flight, oldest first
  std::vector<uint32_t> storeGroups; ///< sizes of the committed groups, like Thread::groups
  Mbarrier *mbarrier;                ///< mbarrier at which it waits
  Thread *next;                      ///< next thread that waits at the same mbarrier
  uint32_t phase;                    ///< phase for whose end it waits there
  uint32_t committed,
      trail; ///< number of committed groups of wgmmas; a hash of the wgmma_fences, commits and waits that it passed
  const void *request; ///< operands of an operation of the warpgroup that it takes part in
};

struct Thread : mpc_emu_thread {
  Block *parent;
  Context context;
  State state;
  uint32_t warp;
  uint32_t site;                 ///< site of the op that it waits at
  uint32_t mode, value, operand; ///< operands of a warp operation; `value` is also its result
  uint64_t address;              ///< address of a load_matrix or store_matrix
  std::vector<AsyncCopy> copies; ///< copies in flight, oldest first
  std::vector<uint32_t> groups;  ///< sizes of the committed groups; later copies are not committed yet
  // Only in kernels with asynchronous units (Order.h); in others `known` is null:
  uint32_t slot;   ///< slot in the clocks
  uint32_t epoch;  ///< counts the thread's releases
  uint32_t *known; ///< accesses of slot s in epochs below known[s] happened before what the thread does now
  Progress *async; ///< kept apart, so that threads of other kernels lie close together
};

/// Barriers and warp_syncs, in which whole warps take part, order memory. The epoch of a warp counts them; accesses of
/// warp v in epochs below known[v] happened before what this warp does now.
struct Warp {
  uint32_t live, arrived; ///< masks of lanes
  WarpOp op;
  uint32_t site;
  uint32_t epoch;
  uint32_t known[kMaxWarps];
};

struct Barrier {
  uint32_t arrived, expected; ///< numbers of threads; expected 0: all of the block
  uint32_t warps;             ///< mask of the warps that arrived
  uint32_t lanes[kMaxWarps], site[kMaxWarps];
};

/// An access, as the shadow of shared memory records it: thread + 1, whether it is atomic, epoch. 0: none.
using Access = uint32_t;
constexpr uint32_t kEpochBits = 20;

enum CellFlag : uint8_t {
  kWritten = 1,
  kGeneric = 2, ///< last written by a store or copy_async: wgmma and tensor_store may read it only after an async_fence
  kLoading = 4, ///< the copy in flight is a tensor_load
  kBarrier = 8, ///< part of an mbarrier
};

/// The shadow of a granule of shared memory: the last write and two reads since then that are not ordered
/// with each other.
struct Cell {
  Access write, reads[2];
  uint16_t copier;   ///< thread + 1 of a cp.async or tensor_load in flight to it, or 0
  uint16_t products; ///< number of wgmmas in flight that read it
  uint8_t stores;    ///< number of tensor_stores in flight that read it
  uint8_t flags;     ///< bits of CellFlag
};

/// A block's memory and threads, reused from launch to launch.
struct Block {
  const Kernel *kernel = nullptr;
  const Buffer *buffers = nullptr;
  void *const *arguments = nullptr; ///< the device addresses of the buffers
  Scheduler *scheduler = nullptr;
  uint32_t index[3] = {}, gridSize = 1; ///< block index in the grid; number of blocks along x
  uint32_t threadCount = 0, live = 0;
  bool racesKnown = true; ///< false after epochs ran out of bits
  std::vector<Thread> threads;
  Warp warps[kMaxWarps];
  Barrier barriers[kBarriers];
  uint32_t openBarriers = 0; ///< mask of the barriers at which some thread waits
  std::unique_ptr<char[]> sharedStorage;
  char *shared = nullptr;
  size_t sharedBytes = 0;
  std::vector<Cell> cells;
  // Only in kernels with asynchronous units:
  Block *cluster = nullptr;           ///< the blocks of its cluster, in consecutive memory
  uint32_t clusterSize = 1, rank = 0; ///< number of blocks in the cluster; own number in it
  uint32_t slots = 0, firstSlot = 0;  ///< slots of a clock; the first slot of this block
  std::vector<uint32_t> clocks;       ///< clocks of threads, of warpgroups, and two per mbarrier
  std::vector<Progress> progress;     ///< one per thread
  std::vector<Mbarrier> mbarriers;
  std::vector<Warpgroup> warpgroups;
  uint32_t freeRegisters = 0;
  uint32_t atCluster = 0; ///< number of threads at the cluster's barrier

  Block();
  ~Block();
};

/// Runs the fibers of the blocks that were made ready, until all have exited, none can go on, or one has found a fault.
struct Scheduler {
  Context home;
  Finding finding;
  // The fibers that can go on, as a ring. Warps that were just released go on first, because their stacks
  // are in the cache.
  std::vector<Thread *> ring;
  uint32_t head = 0, size = 0;

  void reserve(uint32_t threads);
  void pushFront(Thread *t) { ring[head = (head - 1) & (ring.size() - 1)] = t, ++size; }
  void pushBack(Thread *t) { ring[(head + size++) & (ring.size() - 1)] = t; }
  Thread *pop() {
    Thread *t = ring[head];
    head = (head + 1) & (ring.size() - 1), --size;
    return t;
  }
};

/// Suspends the calling fiber until another thread makes it ready again.
void suspend(Thread &t);
/// Ends the run of the scheduler with a finding at `t`; takes a format like printf.
[[noreturn]] void stop(Thread &t, Fault fault, uint32_t site, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/// Makes a waiting thread ready.
void wake(Thread &t);

// Block.cpp
/// Runs the blocks of a cluster (or one block) to their ends; on false scheduler.finding says why they did not end.
bool runBlocks(Block *blocks, uint32_t count, Scheduler &scheduler, const Stacks &stacks, uint64_t seed);

// Order.cpp
/// Is called when a whole warp, or all warps in the mask, have met: orders what they did before it before
/// what they do next.
void orderMemory(Block &block, uint32_t warps);
/// Does the same for all threads of a cluster.
void orderCluster(Block *blocks, uint32_t count);

// Warp.cpp
/// Is called when a lane has exited: the operation that the others wait in may now be complete.
void recheckWarp(Thread &exited);

// Cluster.cpp
/// Is called when a thread has exited: all others may now be at the cluster's barrier.
void recheckCluster(Thread &exited);
/// Returns the block of the thread's cluster; makes a finding if there is no such block or it has ended.
Block &blockOfCluster(Thread &t, uint32_t rank, uint32_t site);

// Barrier.cpp
void recheckBarriers(Thread &exited);

// Wgmma.cpp
/// Makes a finding if a thread ends without having waited for its wgmmas.
void checkExit(Thread &exiting);

// Memory.cpp
/// Checks bounds, alignment, initialisation and races of an access; returns its offset in the block's shared memory.
uint32_t checkShared(Thread &t, uint64_t address, uint32_t bytes, uint32_t access, uint32_t site);
/// Checks only bounds and alignment.
uint32_t locateShared(Thread &t, uint64_t address, uint32_t bytes, uint32_t log2Alignment, bool write, uint32_t site);
/// Returns the memory behind a global address after checking bounds and alignment.
char *locateGlobal(Thread &t, uint64_t address, uint32_t bytes, uint32_t access, uint32_t site);

// Mma.cpp
/// Computes D = A B + C for the registers of 32 lanes.
void multiplyTile(Thread *lanes, uint32_t element, uint32_t k);

} // namespace mpc::rt::emulator
