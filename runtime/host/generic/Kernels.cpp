//===- Kernels.cpp - Choice of the instruction set ------------------------===//
#include "Kernels.h"

#include <cstring>

#define MPC_DECLARE(isa)                                                                                     \
  namespace mpc::generic::isa {                                                                              \
  extern const Kernels<float> tableF32;                                                                      \
  extern const Kernels<double> tableF64;                                                                     \
  }
MPC_DECLARE(baseline)
#ifdef MPC_GENERIC_X86
MPC_DECLARE(v3)
MPC_DECLARE(v4)
#endif

namespace mpc::generic {
namespace {

enum class Level { Baseline, V3, V4 };

/// x86-64-v3 and -v4 as the psABI defines them, as far as the kernels use them.
[[maybe_unused]] Level detect() {
#ifdef MPC_GENERIC_X86
  __builtin_cpu_init();
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
            __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c");
  bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl");
  return v4 ? Level::V4 : v3 ? Level::V3 : Level::Baseline;
#else
  return Level::Baseline;
#endif
}

Level &level() {
  static Level chosen = detect();
  return chosen;
}

} // namespace

bool useKernels(const char *name) {
  const char *const names[] = {"baseline", "v3", "v4"};
  for (int i = 0; i <= int(detect()); ++i)
    if (!std::strcmp(name, names[i])) {
      level() = Level(i);
      return true;
    }
  return false;
}

#ifdef MPC_GENERIC_X86
#define MPC_CHOOSE(table)                                                                                    \
  level() == Level::V4 ? v4::table : level() == Level::V3 ? v3::table : baseline::table
#else
#define MPC_CHOOSE(table) baseline::table
#endif

template <> const Kernels<float> &kernels<float>() { return MPC_CHOOSE(tableF32); }
template <> const Kernels<double> &kernels<double>() { return MPC_CHOOSE(tableF64); }

} // namespace mpc::generic
