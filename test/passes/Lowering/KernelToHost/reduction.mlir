// RUN: mpc-opt %s --mpc-plan-loops --mpc-emit-kernels | FileCheck %s

// Along rows, the accumulator is in a register. Additions may be reassociated, so that the loop vectorises.
// CHECK: kernel.dispatch reduction "rows"{{.*}}grid = 100, 1, 1
func.func @rows(%x: tensor<100x300xf16>) -> tensor<100xf16> {
  %r = kernel.dispatch reduction "rows" (%x) : (tensor<100x300xf16>) -> (tensor<100xf16>) {
  ^bb0(%a: tensor<100x300xf16>):
    %0 = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<100x300xf16>) -> tensor<100xf16>
    kernel.yield %0 : tensor<100xf16>
  }
  return %r : tensor<100xf16>
}

// Along columns, blocks of 32 columns have accumulators in an array. Sums of more than 32 numbers have two levels.
// CHECK: kernel.dispatch reduction "columns"{{.*}}grid = 2, 1, 1
func.func @columns(%x: tensor<4000x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  %r:2 = kernel.dispatch reduction "columns" (%x) : (tensor<4000x64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%a: tensor<4000x64xf32>):
    %0 = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<4000x64xf32>) -> tensor<64xf32>
    %1 = graph.mul %a, %a : (tensor<4000x64xf32>, tensor<4000x64xf32>) -> tensor<4000x64xf32>
    %2 = graph.reduce_sum %1 {axes = array<i64: 0>, keepdims = false} : (tensor<4000x64xf32>) -> tensor<64xf32>
    kernel.yield %0, %2 : tensor<64xf32>, tensor<64xf32>
  }
  return %r#0, %r#1 : tensor<64xf32>, tensor<64xf32>
}

// CHECK-LABEL: llvm.func @k0
// CHECK: scf.for %[[ROW:.*]] = %arg1 to %arg2
// CHECK: %[[SUM:.*]] = scf.for {{.*}} = %c0_i64 to %c300_i64 {{.*}} iter_args(%[[ACC:.*]] = %cst) -> (f32)
// CHECK: arith.extf
// CHECK: arith.addf %[[ACC]], %{{.*}} fastmath<reassoc> : f32
// CHECK: arith.truncf %[[SUM]] : f32 to f16
// CHECK: llvm.store

// CHECK-LABEL: llvm.func @k1
// CHECK: llvm.alloca %c32_i64 x f32
// CHECK: scf.for %[[BLOCK:.*]] = %arg1 to %arg2
// The totals of 32 columns start from zero, and so do the parts of each of 50 blocks of 80 rows.
// CHECK: scf.for {{.*}} = %c0_i64 to %c32_i64
// CHECK-COUNT-2: llvm.store
// CHECK: scf.for {{.*}} = %c0_i64 to %c50_i64
// CHECK: scf.for {{.*}} = %c0_i64 to %c32_i64
// CHECK-COUNT-2: llvm.store
// A block's rows are added in order, along 32 neighbours each, and both sums take what is read.
// CHECK: scf.for {{.*}} step
// CHECK: scf.for {{.*}} = %c0_i64 to %c32_i64
// CHECK: arith.addf %{{[^ ]*}}, %{{[^ ]*}} : f32
// CHECK: llvm.store
// CHECK: arith.addf %{{[^ ]*}}, %{{[^ ]*}} : f32
// CHECK: llvm.store
// CHECK-NOT: llvm.store
// The parts are added to the totals behind each block, and the totals are stored at the end.
// CHECK: scf.for {{.*}} = %c0_i64 to %c32_i64
// CHECK: arith.addf
// CHECK: llvm.store
// CHECK: arith.addf
// CHECK: llvm.store
// CHECK-NOT: arith.addf
// CHECK: scf.for {{.*}} = %c0_i64 to %c32_i64
// CHECK-COUNT-2: llvm.store
// CHECK-NOT: arith.addf
// CHECK: llvm.return

// A result of the whole space is stored in a loop of its own behind the sums, and computes its elements again: it may lie where an operand does.
// CHECK-LABEL: llvm.func @k2
// CHECK: scf.for %{{.*}} = %arg1 to %arg2
// CHECK: scf.for {{.*}} = %c0_i64 to %c10_i64
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: scf.for {{.*}} = %c0_i64 to %c300_i64
// CHECK: arith.mulf
// CHECK-NOT: arith.addf
// CHECK: llvm.store
// CHECK: llvm.return
func.func @whole(%x: tensor<300x64xf32>, %y: tensor<300x64xf32>) -> (tensor<300x64xf32>, tensor<64xf32>) {
  %r:2 = kernel.dispatch row "whole" (%x, %y) : (tensor<300x64xf32>, tensor<300x64xf32>) -> (tensor<300x64xf32>, tensor<64xf32>) {
  ^bb0(%a: tensor<300x64xf32>, %b: tensor<300x64xf32>):
    %0 = graph.mul %a, %b : (tensor<300x64xf32>, tensor<300x64xf32>) -> tensor<300x64xf32>
    %1 = graph.reduce_sum %0 {axes = array<i64: 0>, keepdims = false} : (tensor<300x64xf32>) -> tensor<64xf32>
    kernel.yield %0, %1 : tensor<300x64xf32>, tensor<64xf32>
  }
  return %r#0, %r#1 : tensor<300x64xf32>, tensor<64xf32>
}
