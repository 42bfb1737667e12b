// The state of a block of GPU threads while it runs: one fiber per thread, all on one OS thread.
//
// Fibers switch to each other directly; the scheduler's own stack only starts a block and judges how it ended. Nothing here is global
// or thread-local: a fiber reaches everything through its Thread, so that the blocks of a cluster can share a scheduler.
//
// A fault abandons all fibers where they stand. Functions that run on a fiber therefore own nothing (no destructors to run).
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

/// What the threads of a warp do together.
enum class WarpOp : uint8_t { Sync, Shuffle, Vote, LoadMatrix, StoreMatrix, Mma };

/// A cp.async under way; done when its group is awaited.
struct AsyncCopy {
  uint32_t to; ///< offset in the block's shared memory
  uint8_t bytes, valid;
  const char *from;
};

/// A tensor_load or tensor_store under way.
struct TensorCopy {
  const TensorMap *map;
  BoxPosition position;
  uint32_t place;        ///< offset in the block's shared memory
  uint32_t thread, site; ///< that started it
};

/// What a thread does with asynchronous units.
struct Progress {
  std::vector<uint32_t> fences;      ///< epochs that ended with an async_fence, ascending
  std::vector<TensorCopy> stores;    ///< under way, oldest first
  std::vector<uint32_t> storeGroups; ///< sizes of the committed groups, as Thread::groups
  Mbarrier *mbarrier;                ///< at which it waits
  Thread *next;                      ///< that waits there as well
  uint32_t phase;                    ///< for whose end it waits there
  uint32_t committed, trail;         ///< groups of wgmmas; a hash of the wgmma_fences, commits and waits it went through
  const void *request;               ///< operands of an operation of the warpgroup
};

struct Thread : mpc_emu_thread {
  Block *parent;
  Context context;
  State state;
  uint32_t warp;
  uint32_t site;                 ///< of what it waits at
  uint32_t mode, value, operand; ///< of a warp operation; `value` is also its result
  uint64_t address;              ///< of a load_matrix or store_matrix
  std::vector<AsyncCopy> copies; ///< under way, oldest first
  std::vector<uint32_t> groups;  ///< sizes of the committed groups; copies behind them are not committed yet
  // Of kernels with asynchronous units (Order.h).
  uint32_t slot;                ///< of its clock
  uint32_t epoch;               ///< counts what it released
  uint32_t *known;              ///< accesses of slot s in epochs below known[s] happened before what the thread does now; null in other kernels
  Progress *async;              ///< apart, so that threads of other kernels lie close together
};

/// Memory is ordered by barriers and warp_syncs, which whole warps take part in. The epoch of a warp counts them; accesses of
/// warp v in epochs below known[v] happened before what this warp does now.
struct Warp {
  uint32_t live, arrived; ///< masks of lanes
  WarpOp op;
  uint32_t site;
  uint32_t epoch;
  uint32_t known[kMaxWarps];
};

struct Barrier {
  uint32_t arrived, expected; ///< threads; expected 0: all
  uint32_t warps;             ///< mask of those that arrived
  uint32_t lanes[kMaxWarps], site[kMaxWarps];
};

/// An access as the shadow of shared memory remembers it: thread + 1, whether atomic, epoch. 0: none.
using Access = uint32_t;
constexpr uint32_t kEpochBits = 20;

enum CellFlag : uint8_t {
  kWritten = 1,
  kGeneric = 2, ///< last written by a store or copy_async: wgmma and tensor_store see it behind an async_fence
  kLoading = 4, ///< the copy under way is a tensor_load
  kBarrier = 8, ///< part of an mbarrier
};

/// The shadow of a granule of shared memory: the last write and two reads since then that are not ordered with each other.
struct Cell {
  Access write, reads[2];
  uint16_t copier;   ///< thread + 1 of a cp.async or tensor_load under way to it, or 0
  uint16_t products; ///< wgmmas under way that read it
  uint8_t stores;    ///< tensor_stores under way that read it
  uint8_t flags;     ///< of CellFlag
};

/// A block's memory and threads, reused from launch to launch.
struct Block {
  const Kernel *kernel = nullptr;
  const Buffer *buffers = nullptr;
  void *const *arguments = nullptr; ///< the device addresses of the buffers
  Scheduler *scheduler = nullptr;
  uint32_t index[3] = {}, gridSize = 1; ///< of blocks along x
  uint32_t threadCount = 0, live = 0;
  bool racesKnown = true; ///< false once epochs ran out of bits
  std::vector<Thread> threads;
  Warp warps[kMaxWarps];
  Barrier barriers[kBarriers];
  uint32_t openBarriers = 0; ///< mask of those at which someone waits
  std::unique_ptr<char[]> sharedStorage;
  char *shared = nullptr;
  size_t sharedBytes = 0;
  std::vector<Cell> cells;
  // Of kernels with asynchronous units.
  Block *cluster = nullptr;         ///< the blocks of its cluster, one after the other
  uint32_t clusterSize = 1, rank = 0; ///< how many; its own number
  uint32_t slots = 0, firstSlot = 0; ///< of a clock; the first of this block's own
  std::vector<uint32_t> clocks; ///< of threads, warpgroups, and two per mbarrier
  std::vector<Progress> progress; ///< of the threads
  std::vector<Mbarrier> mbarriers;
  std::vector<Warpgroup> warpgroups;
  uint32_t freeRegisters = 0;
  uint32_t atCluster = 0; ///< threads at the cluster's barrier

  Block();
  ~Block();
};

/// Runs the fibers of the blocks that were made ready, until all have exited, none can go on, or one has found a fault.
struct Scheduler {
  Context home;
  Finding finding;
  // The fibers that can go on, as a ring: warps that were just released go on first, their stacks being in the cache.
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

/// The calling fiber gives way until someone makes it ready again.
void suspend(Thread &t);
/// Ends the run of the scheduler with a finding at `t`. printf-like.
[[noreturn]] void stop(Thread &t, Fault fault, uint32_t site, const char *format, ...) __attribute__((format(printf, 4, 5)));

/// Makes a waiting thread ready.
void wake(Thread &t);

// Block.cpp
/// Runs the blocks of a cluster (or one) to their ends; false: scheduler.finding says why not.
bool runBlocks(Block *blocks, uint32_t count, Scheduler &scheduler, const Stacks &stacks, uint64_t seed);

// Order.cpp
/// A whole warp, or all warps in the mask, have met: what they did before is ordered before what they do next.
void orderMemory(Block &block, uint32_t warps);
/// The same of all threads of a cluster.
void orderCluster(Block *blocks, uint32_t count);

// Warp.cpp
/// Called when a lane has exited: the others may now be complete.
void recheckWarp(Thread &exited);

// Cluster.cpp
/// Called when a thread has exited: the others may all be at the cluster's barrier.
void recheckCluster(Thread &exited);
/// The block of the thread's cluster; a finding where there is none, or it has ended.
Block &blockOfCluster(Thread &t, uint32_t rank, uint32_t site);

// Barrier.cpp
void recheckBarriers(Thread &exited);

// Wgmma.cpp
/// A thread that ends must have waited for its wgmmas.
void checkExit(Thread &exiting);

// Memory.cpp
/// Offset in the block's shared memory of a checked access: bounds, alignment, initialisation, races.
uint32_t checkShared(Thread &t, uint64_t address, uint32_t bytes, uint32_t access, uint32_t site);
/// Bounds and alignment alone.
uint32_t locateShared(Thread &t, uint64_t address, uint32_t bytes, uint32_t log2Alignment, bool write, uint32_t site);
/// Memory behind a global address after bounds and alignment checks.
char *locateGlobal(Thread &t, uint64_t address, uint32_t bytes, uint32_t access, uint32_t site);

// Mma.cpp
/// D = A B + C for the registers of 32 lanes.
void multiplyTile(Thread *lanes, uint32_t element, uint32_t k);

} // namespace mpc::rt::emulator
