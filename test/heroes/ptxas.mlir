// REQUIRES: ptxas
// RUN: mpc-opt %S/ptx.mlir --mpc-hero-to-gpu=arch=sm_75 | mpc-ptx - --arch=sm_75 --emit=none --ptxas | FileCheck %s
// RUN: mpc-opt %S/ptx.mlir --mpc-hero-to-gpu=arch=sm_80 | mpc-ptx - --arch=sm_80 --emit=none --ptxas | FileCheck %s
// RUN: mpc-opt %S/ptx.mlir --mpc-hero-to-gpu=arch=sm_90a | mpc-ptx - --arch=sm_90a --emit=none --ptxas | FileCheck %s

// No kernel of ptx.mlir spills.
// CHECK: h0: {{[0-9]+}} registers, 0 stack, 0 spill stores, 0 spill loads
// CHECK: h1: {{[0-9]+}} registers, 0 stack, 0 spill stores, 0 spill loads
// CHECK: h2: {{[0-9]+}} registers, 0 stack, 0 spill stores, 0 spill loads
