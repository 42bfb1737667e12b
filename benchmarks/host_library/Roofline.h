//===- Roofline.h - oneDNN in the formats it prefers ------------*- C++ -*-===//
#ifndef MPC_BENCHMARKS_HOST_LIBRARY_ROOFLINE_H
#define MPC_BENCHMARKS_HOST_LIBRARY_ROOFLINE_H

#include "mpc/library.h"

#include <functional>

namespace mpc::bench {

/// Measures the time that the process's threads compute instead of the time that passes: on one thread it
/// stays meaningful while other programs use the machine.
void useProcessorTime(bool on);

/// Seconds of the fastest run of several, after warming up; about 0.1 s in all.
double fastest(const std::function<void()> &);

/// GFLOP/s of the raw primitive with format `any` for all operands, reordered beforehand; -1 when oneDNN
/// lacks it.
double roofline(const mpc_library_desc &);

} // namespace mpc::bench

#endif
