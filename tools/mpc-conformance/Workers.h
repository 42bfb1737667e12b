//===- Workers.h - runs cases in forked processes, so that a crash is one failure ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_TOOLS_MPC_CONFORMANCE_WORKERS_H
#define MPC_TOOLS_MPC_CONFORMANCE_WORKERS_H
#include <cstddef>
#include <functional>
#include <string>

namespace mpc::tool {

/// Runs `work(i)` for every i < count in `workers` forked processes and calls `done(i, answer)` in this process, in the
/// order in which the cases end. For a case that dies or takes longer than `secondsPerCase` (0: no limit) it calls
/// `crash(i, why)` instead, and a new process takes over. Call it before this process has threads. Returns false when a
/// process cannot be made.
bool runInWorkers(size_t count, unsigned workers, unsigned secondsPerCase,
                  const std::function<std::string(size_t)> &work,
                  const std::function<void(size_t, const std::string &)> &done,
                  const std::function<void(size_t, const std::string &)> &crash);

} // namespace mpc::tool
#endif
