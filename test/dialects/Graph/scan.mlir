// RUN: mpc-opt %s --split-input-file | mpc-opt --split-input-file | FileCheck %s
// RUN: mpc-opt %s --split-input-file --canonicalize | FileCheck %s --check-prefix=CANON

// A carried value, invariants, a stacked operand and a stacked result.
// CHECK-LABEL: @cell
// CHECK: %[[FINALS:.*]], %[[STACKS:.*]] = graph.scan 5 carry(%{{.*}} : tensor<2x8xf32>) with(%{{.*}} : tensor<8x8xf32>) over(%{{.*}} : tensor<5x2x8xf32>) -> (tensor<2x8xf32>) stack(tensor<5x2x8xf32>) {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<2x8xf32>, %{{.*}}: tensor<8x8xf32>, %{{.*}}: tensor<2x8xf32>):
// CHECK: graph.scan_yield %{{.*}}, %{{.*}} : tensor<2x8xf32>, tensor<2x8xf32>
// CANON-LABEL: @cell
// CANON: graph.scan 5 carry
func.func @cell(%x: tensor<5x2x8xf32>, %u: tensor<8x8xf32>, %h0: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<5x2x8xf32>) {
  %last, %all = graph.scan 5 carry(%h0 : tensor<2x8xf32>) with(%u : tensor<8x8xf32>) over(%x : tensor<5x2x8xf32>) -> (tensor<2x8xf32>) stack(tensor<5x2x8xf32>) {
  ^bb0(%h: tensor<2x8xf32>, %ub: tensor<8x8xf32>, %xt: tensor<2x8xf32>):
    %0 = graph.matmul %h, %ub : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %1 = graph.add %0, %xt : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    graph.scan_yield %1, %1 : tensor<2x8xf32>, tensor<2x8xf32>
  }
  return %last, %all : tensor<2x8xf32>, tensor<5x2x8xf32>
}

// -----
// Each group of operands and results may be absent; iterations may go backward.
// CHECK-LABEL: @map
// CHECK: graph.scan 3 reverse over(%{{.*}} : tensor<3x4xf32>) stack(tensor<3x4xf32>) {
func.func @map(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %y = graph.scan 3 reverse over(%x : tensor<3x4xf32>) stack(tensor<3x4xf32>) {
  ^bb0(%xt: tensor<4xf32>):
    %0 = graph.exp %xt : tensor<4xf32>
    graph.scan_yield %0 : tensor<4xf32>
  }
  return %y : tensor<3x4xf32>
}

// -----
// Without iterations the carried values are the operands, and the stacks are empty.
// CANON-LABEL: @none
// CANON-SAME: (%[[H:.*]]: tensor<4xf32>, %{{.*}}: tensor<0x4xf32>)
// CANON-NOT: graph.scan
// CANON: %[[EMPTY:.*]] = graph.constant dense<> : tensor<0x4xf32>
// CANON: return %[[H]], %[[EMPTY]]
func.func @none(%h0: tensor<4xf32>, %x: tensor<0x4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {
  %h, %y = graph.scan 0 carry(%h0 : tensor<4xf32>) over(%x : tensor<0x4xf32>) -> (tensor<4xf32>) stack(tensor<0x4xf32>) {
  ^bb0(%hb: tensor<4xf32>, %xt: tensor<4xf32>):
    %0 = graph.add %hb, %xt : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.scan_yield %0, %0 : tensor<4xf32>, tensor<4xf32>
  }
  return %h, %y : tensor<4xf32>, tensor<0x4xf32>
}

// -----
// One iteration needs no scan.
// CANON-LABEL: @one
// CANON-NOT: graph.scan
// CANON: %[[SLICE:.*]] = graph.reshape %{{.*}} : tensor<1x4xf32> to tensor<4xf32>
// CANON: %[[SUM:.*]] = graph.add %{{.*}}, %[[SLICE]]
// CANON: %[[STACK:.*]] = graph.reshape %[[SUM]] : tensor<4xf32> to tensor<1x4xf32>
// CANON: return %[[SUM]], %[[STACK]]
func.func @one(%h0: tensor<4xf32>, %x: tensor<1x4xf32>) -> (tensor<4xf32>, tensor<1x4xf32>) {
  %h, %y = graph.scan 1 carry(%h0 : tensor<4xf32>) over(%x : tensor<1x4xf32>) -> (tensor<4xf32>) stack(tensor<1x4xf32>) {
  ^bb0(%hb: tensor<4xf32>, %xt: tensor<4xf32>):
    %0 = graph.add %hb, %xt : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.scan_yield %0, %0 : tensor<4xf32>, tensor<4xf32>
  }
  return %h, %y : tensor<4xf32>, tensor<1x4xf32>
}

// -----
// What no used result needs goes: the second carried value, which only computes itself, the invariant and the slices that it reads, and a stack without users.
// CANON-LABEL: @unneeded
// CANON: graph.scan 3 carry(%arg0 : tensor<4xf32>) -> (tensor<4xf32>) {
// CANON-NEXT: ^bb0(%[[H:.*]]: tensor<4xf32>):
// CANON-NEXT: %[[E:.*]] = graph.exp %[[H]]
// CANON-NEXT: graph.scan_yield %[[E]] : tensor<4xf32>
func.func @unneeded(%h0: tensor<4xf32>, %k0: tensor<4xf32>, %w: tensor<4xf32>, %x: tensor<3x4xf32>) -> tensor<4xf32> {
  %h, %k, %y = graph.scan 3 carry(%h0, %k0 : tensor<4xf32>, tensor<4xf32>) with(%w : tensor<4xf32>) over(%x : tensor<3x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) stack(tensor<3x4xf32>) {
  ^bb0(%hb: tensor<4xf32>, %kb: tensor<4xf32>, %wb: tensor<4xf32>, %xt: tensor<4xf32>):
    %0 = graph.exp %hb : tensor<4xf32>
    %1 = graph.mul %kb, %wb : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = graph.add %1, %xt : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.scan_yield %0, %2, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %h : tensor<4xf32>
}

// -----
// What is the same in each iteration is computed before the scan; a broadcast, which would take more memory, stays. A carried value that never changes is an invariant.
// CANON-LABEL: @invariants
// CANON: %[[T:.*]] = graph.transpose %arg1 {permutation = array<i64: 1, 0>}
// CANON: graph.scan 3 carry(%arg0 : tensor<2x4xf32>) with(%arg2, %[[T]] : tensor<4xf32>, tensor<4x4xf32>)
// CANON: graph.broadcast
// CANON: return %{{.*}}, %arg2
func.func @invariants(%h0: tensor<2x4xf32>, %w: tensor<4x4xf32>, %b: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>) {
  %h, %same = graph.scan 3 carry(%h0, %b : tensor<2x4xf32>, tensor<4xf32>) with(%w : tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>) {
  ^bb0(%hb: tensor<2x4xf32>, %bb: tensor<4xf32>, %wb: tensor<4x4xf32>):
    %t = graph.transpose %wb {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %0 = graph.matmul %hb, %t : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %1 = graph.broadcast %bb : tensor<4xf32> to tensor<2x4xf32>
    %2 = graph.concat %0, %1 {axis = 0 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %3 = graph.slice %2 {starts = array<i64: 1, 0>, sizes = array<i64: 2, 4>, strides = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<2x4xf32>
    graph.scan_yield %3, %bb : tensor<2x4xf32>, tensor<4xf32>
  }
  return %h, %same : tensor<2x4xf32>, tensor<4xf32>
}

// -----
// Of two equal operands the first has no users: the second one's argument stays. The same holds for two equal stacks.
// CANON-LABEL: @unused_first
// CANON: graph.scan 3 carry(%arg0 : tensor<4xf32>) over(%arg1 : tensor<3x4xf32>) -> (tensor<4xf32>) stack(tensor<3x4xf32>) {
// CANON-NEXT: ^bb0(%[[H:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<4xf32>):
// CANON-NEXT: %[[S:.*]] = graph.add %[[H]], %[[X]]
// CANON-NEXT: graph.scan_yield %[[S]], %[[S]]
func.func @unused_first(%h0: tensor<4xf32>, %x: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  %h, %y, %z = graph.scan 3 carry(%h0 : tensor<4xf32>) over(%x, %x : tensor<3x4xf32>, tensor<3x4xf32>) -> (tensor<4xf32>) stack(tensor<3x4xf32>, tensor<3x4xf32>) {
  ^bb0(%hb: tensor<4xf32>, %unused: tensor<4xf32>, %xt: tensor<4xf32>):
    %0 = graph.add %hb, %xt : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.scan_yield %0, %0, %0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %h, %z : tensor<4xf32>, tensor<3x4xf32>
}

// -----
// A carried value that never changes becomes an invariant, which is equal to one that the body reads already.
// CANON-LABEL: @carried_is_invariant
// CANON: graph.scan 3 with(%arg0 : tensor<4xf32>) over(%arg1 : tensor<3x4xf32>) stack(tensor<3x4xf32>) {
// CANON-NEXT: ^bb0(%[[W:.*]]: tensor<4xf32>, %[[X:.*]]: tensor<4xf32>):
// CANON-NEXT: %[[S:.*]] = graph.add %[[X]], %[[W]]
// CANON-NEXT: graph.scan_yield %[[S]]
// CANON: return %arg0,
func.func @carried_is_invariant(%h0: tensor<4xf32>, %x: tensor<3x4xf32>) -> (tensor<4xf32>, tensor<3x4xf32>) {
  %h, %y = graph.scan 3 carry(%h0 : tensor<4xf32>) with(%h0 : tensor<4xf32>) over(%x : tensor<3x4xf32>) -> (tensor<4xf32>) stack(tensor<3x4xf32>) {
  ^bb0(%hb: tensor<4xf32>, %wb: tensor<4xf32>, %xt: tensor<4xf32>):
    %0 = graph.add %xt, %wb : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.scan_yield %hb, %0 : tensor<4xf32>, tensor<4xf32>
  }
  return %h, %y : tensor<4xf32>, tensor<3x4xf32>
}
