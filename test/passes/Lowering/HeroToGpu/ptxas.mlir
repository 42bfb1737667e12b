// REQUIRES: ptxas
// RUN: mpc-opt %S/ptx.mlir --mpc-set-target=name=sm_75 --mpc-schedule --mpc-emit-kernels | mpc-ptx - --emit=none --ptxas | FileCheck %s
// RUN: mpc-opt %S/ptx.mlir --mpc-set-target=name=sm_80 --mpc-schedule --mpc-emit-kernels | mpc-ptx - --emit=none --ptxas | FileCheck %s
// RUN: mpc-opt %S/ptx.mlir --mpc-set-target=name=sm_90a --mpc-schedule --mpc-emit-kernels | mpc-ptx - --emit=none --ptxas | FileCheck %s

// No kernel of ptx.mlir spills.
// CHECK: k0: {{[0-9]+}} registers, 0 stack, 0 spill stores, 0 spill loads
// CHECK: k1: {{[0-9]+}} registers, 0 stack, 0 spill stores, 0 spill loads
// CHECK: k2: {{[0-9]+}} registers, 0 stack, 0 spill stores, 0 spill loads
