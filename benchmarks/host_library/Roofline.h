//===- Roofline.h - oneDNN in the formats it prefers ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_BENCHMARKS_HOST_LIBRARY_ROOFLINE_H
#define MPC_BENCHMARKS_HOST_LIBRARY_ROOFLINE_H

#include "mpc/library.h"

#include <functional>

namespace mpc::bench {

/// Makes the clock measure the time that the process's threads compute instead of the time that passes: on one thread
/// this stays meaningful while other programs use the machine.
void useProcessorTime(bool on);

/// Returns the seconds of the fastest of several runs, after warming up; it takes about 0.1 s in all.
double fastest(const std::function<void()> &);

/// Returns GFLOP/s of the raw primitive with format `any` for all operands, reordered beforehand; -1 when oneDNN
/// lacks it.
double roofline(const mpc_library_desc &);

} // namespace mpc::bench

#endif
