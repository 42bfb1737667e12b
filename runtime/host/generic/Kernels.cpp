//===- Kernels.cpp - Choice of the instruction set ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernels.h"

#include "mpc/cpu.h"

#include <cstring>
#include <span>

#define MPC_DECLARE(isa, table, type)                                                                                  \
  namespace mpc::generic::isa {                                                                                        \
  extern const Kernels<type> table;                                                                                    \
  }
MPC_DECLARE(baseline, tableF32, float)
MPC_DECLARE(baseline, tableF64, double)
#ifdef MPC_GENERIC_X86
#define MPC_LEVEL(LEVEL, NAME) MPC_DECLARE(LEVEL, tableF32, float)
MPC_CPU_LEVELS(MPC_LEVEL)
#undef MPC_LEVEL
MPC_DECLARE(v3, tableF64, double)
#endif

namespace mpc::generic {
namespace {

struct Level {
  bool runs; ///< whether this CPU has what the compiler may have used
  const Kernels<float> &f32;
  const Kernels<double> &f64;
};

/// The levels in the order of MPC_CPU_LEVELS, so that a later one has all that an earlier one has.
#define MPC_LEVEL(LEVEL, NAME) LEVEL,
enum class Order { MPC_CPU_LEVELS(MPC_LEVEL) };
#undef MPC_LEVEL

/// Those that were built, the best last. f64 only serves checks, which need no speed: its highest level is v3, which
/// makes every program 60 KB smaller, and levels below v3 use the baseline.
std::span<const Level> levels() {
#ifdef MPC_GENERIC_X86
  __builtin_cpu_init();
#define MPC_LEVEL(LEVEL, NAME)                                                                                         \
  {bool(__builtin_cpu_supports(NAME)), LEVEL::tableF32, Order::LEVEL < Order::v3 ? baseline::tableF64 : v3::tableF64},
#else
#define MPC_LEVEL(LEVEL, NAME)
#endif
  static const Level all[] = {{true, baseline::tableF32, baseline::tableF64}, MPC_CPU_LEVELS(MPC_LEVEL)};
#undef MPC_LEVEL
  return all;
}

const Level *best() {
  const Level *best = nullptr;
  for (const Level &level : levels())
    if (level.runs)
      best = &level;
  return best;
}

const Level *&chosen() {
  static const Level *level = best();
  return level;
}

} // namespace

bool useKernels(const char *name) {
  for (const Level &level : levels())
    if (level.runs && !std::strcmp(name, level.f32.name)) {
      chosen() = &level;
      return true;
    }
  return false;
}

template <>
const Kernels<float> &kernels<float>() {
  return chosen()->f32;
}
template <>
const Kernels<double> &kernels<double>() {
  return chosen()->f64;
}

} // namespace mpc::generic
