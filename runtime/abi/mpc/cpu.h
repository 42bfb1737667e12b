/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* The CPUs that host code is compiled for. */
#ifndef MPC_CPU_H
#define MPC_CPU_H

/* The levels that programs are compiled for unless told otherwise: X(LEVEL, NAME), from the oldest to the best, each of
 * which has all that those before it have. LEVEL names the kernels of runtime/host/generic for it; NAME means the same
 * to LLVM, in --cpu, in the names of a program's sections ("host.x86-64-v3.so"), and to __builtin_cpu_supports. Source:
 * x86-64 psABI 1.0, "Micro-Architecture Levels". */
#define MPC_CPU_LEVELS(X) X(v3, "x86-64-v3") X(v4, "x86-64-v4")

/* Stands before the definition of a function that a library of mpc contains once for each of these levels and once for
 * any CPU. The program calls the best one that its CPU can run. The function is compiled once where the CPU is not an
 * x86-64 one. */
#if defined(__x86_64__)
#define MPC_CPU_CLONE(LEVEL, NAME) , "arch=" NAME
#define MPC_CPU_CLONES __attribute__((target_clones("default" MPC_CPU_LEVELS(MPC_CPU_CLONE))))
#else
#define MPC_CPU_CLONES
#endif

/* The name of the machine that compiles, whose code may need any of the features below. */
#define MPC_CPU_NATIVE "native"

/* CPU features beyond x86-64 that code compiled for one machine (--cpu=native) may use. Each name means the same to
 * LLVM, which compiles the code, and to __builtin_cpu_supports, by which a program asks its CPU before it runs such
 * code. */
/* clang-format off */
#define MPC_CPU_FEATURES(X) \
  X("sse3") X("ssse3") X("sse4.1") X("sse4.2") X("sse4a") X("popcnt") X("movbe") X("lzcnt") X("bmi") X("bmi2") X("tbm") X("adx") \
  X("avx") X("avx2") X("fma") X("fma4") X("xop") X("f16c") X("gfni") X("avxvnni") \
  X("avx512f") X("avx512cd") X("avx512bw") X("avx512dq") X("avx512vl") X("avx512ifma") X("avx512vbmi") X("avx512vbmi2") \
  X("avx512bitalg") X("avx512vpopcntdq") X("avx512vnni") X("avx512bf16") X("avx512fp16")
/* clang-format on */

#endif
