// RUN: not mpc-opt %s --mpc-set-target=name=sm_61 2>&1 | FileCheck %s

// CHECK: error: unknown target 'sm_61'
// CHECK: note: hint: known targets: host, sm_60, sm_70, sm_75, sm_80, sm_86, sm_89, sm_90a
// CHECK-NOT: #kernel.target
module {}
