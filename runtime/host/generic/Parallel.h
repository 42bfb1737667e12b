//===- Parallel.h - Tasks on the process's threads --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generic library owns no threads. It splits its work into tasks whose results do not depend on the thread that
// runs them, and hands as many slots as it may use threads to the registered parallel_for; each slot takes tasks
// until none is left.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_RUNTIME_HOST_GENERIC_PARALLEL_H
#define MPC_RUNTIME_HOST_GENERIC_PARALLEL_H

#include <atomic>
#include <cstdint>

namespace mpc::generic {

/// Runs body(ctx, begin, end) over [0, n) through the registered callback, or on this thread when there is none.
void parallelFor(int64_t n, void (*body)(void *, int64_t, int64_t), void *ctx);

/// Runs task(slot, index) for every index in [0, tasks). At most one task runs in a slot at a time, so a slot
/// may own scratch memory. slots >= 1.
template <class Task>
void forEachTask(int slots, int64_t tasks, const Task &task) {
  if (slots <= 1 || tasks <= 1) {
    for (int64_t index = 0; index < tasks; ++index)
      task(0, index);
    return;
  }
  struct Shared {
    std::atomic<int64_t> next;
    int64_t tasks;
    const Task *task;
  } shared{{0}, tasks, &task};
  parallelFor(
      slots < tasks ? slots : tasks,
      [](void *ctx, int64_t begin, int64_t end) {
        auto &s = *static_cast<Shared *>(ctx);
        for (int64_t slot = begin; slot < end; ++slot)
          for (int64_t i; (i = s.next.fetch_add(1, std::memory_order_relaxed)) < s.tasks;)
            (*s.task)(int(slot), i);
      },
      &shared);
}

} // namespace mpc::generic

#endif
