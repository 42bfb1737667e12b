//===- Kernels.cpp - Choice of the instruction set ------------------------===//
#include "Kernels.h"

#include <cstring>

#define MPC_DECLARE(isa, table, type)                                                                                  \
  namespace mpc::generic::isa {                                                                                        \
  extern const Kernels<type> table;                                                                                    \
  }
MPC_DECLARE(baseline, tableF32, float)
MPC_DECLARE(baseline, tableF64, double)
#ifdef MPC_GENERIC_X86
MPC_DECLARE(v3, tableF32, float)
MPC_DECLARE(v3, tableF64, double)
MPC_DECLARE(v4, tableF32, float)
#endif

namespace mpc::generic {
namespace {

enum class Level { Baseline, V3, V4 };

/// Returns the level x86-64-v3 or -v4, as the psABI defines it, checking only the features that the kernels use.
[[maybe_unused]] Level detect() {
#ifdef MPC_GENERIC_X86
  __builtin_cpu_init();
  bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
            __builtin_cpu_supports("f16c");
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

template <>
const Kernels<float> &kernels<float>() {
#ifdef MPC_GENERIC_X86
  if (level() == Level::V4)
    return v4::tableF32;
  if (level() == Level::V3)
    return v3::tableF32;
#endif
  return baseline::tableF32;
}

/// f64 only serves checks, which need no speed: its highest level is v3, which makes every program 60 KB smaller.
template <>
const Kernels<double> &kernels<double>() {
#ifdef MPC_GENERIC_X86
  if (level() != Level::Baseline)
    return v3::tableF64;
#endif
  return baseline::tableF64;
}

} // namespace mpc::generic
