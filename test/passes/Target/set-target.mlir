// RUN: mpc-opt %s --mpc-set-target=name=sm_80 | FileCheck %s --check-prefix=GPU
// RUN: mpc-opt %s --mpc-set-target | FileCheck %s --check-prefix=HOST
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-set-target=name=sm_90a | FileCheck %s --check-prefix=LAST

// GPU: module attributes {kernel.target = #kernel.target<"sm_80">}
// HOST: module attributes {kernel.target = #kernel.target<"host">}
// LAST: module attributes {kernel.target = #kernel.target<"sm_90a">}
module {}
