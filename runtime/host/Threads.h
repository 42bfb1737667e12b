// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One pool of threads for compiled kernels and for the library provider, and pools for work beside them.
//
// libgomp, opened at run time, runs both: oneDNN loads the same copy, so its loops run on the same threads
// and nothing is oversubscribed. Without libgomp a pool of our own does the same for kernels. Work beside the kernels,
// such as reading data, always has a pool of its own, because the two run at the same time.
#pragma once

#include "mpc/kernel.h"

#include <cstdint>
#include <memory>
#include <string>

namespace mpc::rt {

class Threads {
public:
  /// Says whose threads they are: those of libgomp where there is one, or always a pool of this object.
  enum class Backend { LibgompOrPool, OwnPool };

  /// `count` 0 takes as many threads as the process may use (its CPU affinity).
  explicit Threads(int count = 0, Backend backend = Backend::LibgompOrPool);
  ~Threads();
  Threads(const Threads &) = delete;
  Threads &operator=(const Threads &) = delete;

  int count() const { return count_; }
  /// Returns "libgomp" or "own pool".
  const char *backend() const;

  /// Calls kernel(buffers, begin, end) on disjoint slices that cover [0, grid), none shorter than `grain` if
  /// possible, and returns when all are done. A grid of at most `grain` runs inline. Only one caller
  /// at a time may use it.
  void parallelFor(mpc_kernel_fn kernel, void *const *buffers, int64_t grid, int64_t grain);
  /// Does the same for any function: body(context, begin, end).
  void parallelFor(void (*body)(void *, int64_t, int64_t), void *context, int64_t grid, int64_t grain);

private:
  struct Pool;
  using GompParallel = void (*)(void (*)(void *), void *, unsigned, unsigned);
  using GompNumber = int (*)();

  int count_ = 1;
  GompParallel gompParallel_ = nullptr;
  GompNumber gompThreadNumber_ = nullptr, gompTeamSize_ = nullptr;
  std::unique_ptr<Pool> pool_;
};

/// Returns the number of CPUs that the process may run on.
int availableCpus();

} // namespace mpc::rt
