/* CPU features beyond x86-64 that code compiled for one machine (--cpu=native) may use. Each name means the same to
 * LLVM, which compiles the code, and to __builtin_cpu_supports, by which a program asks its CPU before it runs such
 * code. */
#ifndef MPC_CPU_H
#define MPC_CPU_H

/* clang-format off */
#define MPC_CPU_FEATURES(X) \
  X("sse3") X("ssse3") X("sse4.1") X("sse4.2") X("sse4a") X("popcnt") X("movbe") X("lzcnt") X("bmi") X("bmi2") X("tbm") X("adx") \
  X("avx") X("avx2") X("fma") X("fma4") X("xop") X("f16c") X("gfni") X("avxvnni") \
  X("avx512f") X("avx512cd") X("avx512bw") X("avx512dq") X("avx512vl") X("avx512ifma") X("avx512vbmi") X("avx512vbmi2") \
  X("avx512bitalg") X("avx512vpopcntdq") X("avx512vnni") X("avx512bf16") X("avx512fp16")
/* clang-format on */

#endif
