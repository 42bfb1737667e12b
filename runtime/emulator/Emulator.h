// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs compiled GPU kernels on the CPU, and checks what they do.
//
// A block's threads are fibers on one OS thread; blocks are distributed over the runtime's threads. Each kernel runs
// with checks of bounds, alignment, initialisation of shared memory, races, and divergence; a finding stops the launch
// with an Error that names kernel, block, thread and op.
#pragma once

#include "mpc/emulator.h"
#include "runtime/emulator/Finding.h"
#include "runtime/emulator/TensorMap.h"
#include "runtime/host/Kernels.h"
#include "runtime/host/Threads.h"
#include "runtime/support/Error.h"

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace mpc::rt::emulator {

/// Memory that a launch may touch: one buffer per argument of the kernel.
struct Buffer {
  void *data = nullptr;
  size_t bytes = 0;
  bool writable = true;
};

struct Grid {
  uint32_t x = 1, y = 1, z = 1;
};

/// A kernel and its description (see mpc/emulator.h).
struct Kernel {
  struct Piece {
    uint32_t bytes, offset; ///< offset in the block's shared memory
  };
  std::string name;
  mpc_emu_kernel_fn entry = nullptr;
  uint32_t threads = 0, buffers = 0;
  uint32_t granuleLog2 = 2;
  uint32_t sharedBytes = 0;
  uint32_t cluster = 1;      ///< blocks of a cluster
  bool asynchronous = false; ///< the kernel uses the asynchronous units of sm_90a
  uint32_t registers = 0;    ///< registers of a thread at the start, in such kernels
  std::vector<Piece> shared;
  std::vector<TensorMap> maps;
  std::vector<std::string> sites;

  /// Reads a description; throws Error (located at `where`) when the text is not one.
  static Kernel parse(std::string name, mpc_emu_kernel_fn entry, std::string_view about, const std::string &where);
};

/// The emulated kernels of one architecture, opened from a shared object.
class Module {
public:
  Module(std::string_view object, std::string where);
  /// Throws Error when there is no such kernel. Only one caller at a time may use it.
  const Kernel &find(const std::string &symbol);

private:
  std::string where_;
  Kernels object_;
  std::map<std::string, Kernel, std::less<>> known_;
};

/// A fault in a kernel, as an Error: `where` is the op, and `what` names fault, kernel, block and thread.
class FaultError : public Error {
public:
  FaultError(const Kernel &kernel, const Finding &finding, std::string_view dispatch);
  const Finding &finding() const { return finding_; }

private:
  Finding finding_;
};

class Emulator {
public:
  /// `seed` chooses the order in which threads and warps of a block run; 0 keeps their numbers' order.
  explicit Emulator(Threads &threads, uint64_t seed = 0);
  ~Emulator();

  /// Runs the kernel over the grid and returns when it is done. `dispatch` is its name in messages. Throws FaultError;
  /// the buffers are then in an undefined state. Only one caller at a time may use it.
  void launch(const Kernel &kernel, Grid grid, std::span<const Buffer> buffers, std::string_view dispatch = {});

  void setSeed(uint64_t seed) { seed_ = seed; }

private:
  struct Worker;
  std::unique_ptr<Worker> acquire();
  void release(std::unique_ptr<Worker> worker);

  Threads &threads_;
  uint64_t seed_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Worker>> idle_;
};

} // namespace mpc::rt::emulator
