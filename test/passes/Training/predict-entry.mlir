// RUN: mpc-opt %s --mpc-predict-entry --split-input-file --verify-diagnostics | FileCheck %s
// RUN: mpc-opt %s --mpc-inference --split-input-file --verify-diagnostics | FileCheck %s

// CHECK: func.func @predict(%{{.*}}: tensor<8x4xf32> {train.name = "x"}) -> (tensor<8x4xf32> {train.name = "y"})
// CHECK-NOT: @forward
func.func @forward(%x: tensor<8x4xf32> {train.name = "x"}) -> (tensor<8x4xf32> {train.name = "y"}) {
  %y = graph.exp %x : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// expected-error@+2 {{no @forward to compile}}
// expected-note@+1 {{hint: give the module of an imported network}}
module {}
