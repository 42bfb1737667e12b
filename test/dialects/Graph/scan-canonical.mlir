// RUN: mpc-opt %s --canonicalize --split-input-file | FileCheck %s

// Sums over the iterations leave the body: the factors of the product are a slice, which is read as a whole, and a value of the body, which is stacked; the sum of `c` reads the stack that is there already.
// CHECK-LABEL: func.func @sums
// CHECK: graph.scan 3 carry(%arg0 : tensor<2x4xf32>) -> (tensor<2x4xf32>) stack(tensor<3x2x4xf32>)
// CHECK-NOT: transpose_a
// CHECK: graph.scan_yield
// CHECK: graph.reduce_sum %{{.*}} {axes = array<i64: 0, 1>, keepdims = false} : (tensor<3x2x4xf32>) -> tensor<4xf32>
// CHECK-DAG: %[[X:.*]] = graph.reshape %arg1 : tensor<3x2x5xf32> to tensor<6x5xf32>
// CHECK-DAG: %[[Y:.*]] = graph.reshape %{{.*}} : tensor<3x2x4xf32> to tensor<6x4xf32>
// CHECK: graph.matmul %[[X]], %[[Y]] {transpose_a} : (tensor<6x5xf32>, tensor<6x4xf32>) -> tensor<5x4xf32>
func.func @sums(%h0: tensor<2x4xf32>, %x: tensor<3x2x5xf32>, %w0: tensor<5x4xf32>, %b0: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<5x4xf32>, tensor<4xf32>) {
  %h, %w, %b = graph.scan 3 carry(%h0, %w0, %b0 : tensor<2x4xf32>, tensor<5x4xf32>, tensor<4xf32>) over(%x : tensor<3x2x5xf32>) -> (tensor<2x4xf32>, tensor<5x4xf32>, tensor<4xf32>) {
  ^bb0(%hb: tensor<2x4xf32>, %wb: tensor<5x4xf32>, %bb: tensor<4xf32>, %xt: tensor<2x5xf32>):
    %0 = graph.tanh %hb : tensor<2x4xf32>
    %1 = graph.matmul %xt, %0 {transpose_a} : (tensor<2x5xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
    %2 = graph.add %wb, %1 : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
    %3 = graph.reduce_sum %0 {axes = array<i64: 0>, keepdims = false} : (tensor<2x4xf32>) -> tensor<4xf32>
    %4 = graph.add %bb, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.scan_yield %0, %2, %4 : tensor<2x4xf32>, tensor<5x4xf32>, tensor<4xf32>
  }
  return %h, %w, %b : tensor<2x4xf32>, tensor<5x4xf32>, tensor<4xf32>
}

// -----
// What every iteration reads rounded is carried rounded, and so is a stack whose readers round it. The value after the last iteration is not rounded: it is the last slice of the other stack.
// CHECK-LABEL: func.func @rounded
// CHECK: graph.scan 3 carry(%{{.*}} : tensor<4x4xf16>) {{.*}} stack(tensor<3x4x4xf16>, tensor<3x4x4xf32>)
// CHECK: graph.matmul %{{.*}} : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
// CHECK: graph.slice %{{.*}}#1
func.func @rounded(%h0: tensor<4x4xf32>, %u: tensor<4x4xf16>) -> (tensor<4x4xf32>, tensor<3x4x4xf16>, tensor<3x4x4xf32>) {
  %h, %s, %t = graph.scan 3 carry(%h0 : tensor<4x4xf32>) with(%u : tensor<4x4xf16>) -> (tensor<4x4xf32>) stack(tensor<3x4x4xf32>, tensor<3x4x4xf32>) {
  ^bb0(%hb: tensor<4x4xf32>, %ub: tensor<4x4xf16>):
    %0 = graph.cast %hb : tensor<4x4xf32> to tensor<4x4xf16>
    %1 = graph.matmul %0, %ub : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
    %2 = graph.cast %1 : tensor<4x4xf16> to tensor<4x4xf32>
    %3 = graph.tanh %2 : tensor<4x4xf32>
    %4 = graph.exp %3 : tensor<4x4xf32>
    graph.scan_yield %3, %4, %3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
  %5 = graph.cast %s : tensor<3x4x4xf32> to tensor<3x4x4xf16>
  return %h, %5, %t : tensor<4x4xf32>, tensor<3x4x4xf16>, tensor<3x4x4xf32>
}

// -----
// What an iteration reads both ways is carried both ways, so that the iteration does not begin with a cast.
// CHECK-LABEL: func.func @both
// CHECK: graph.scan 3 carry(%{{.*}}, %{{.*}} : tensor<4x4xf32>, tensor<4x4xf16>)
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<4x4xf32>, %[[N:.*]]: tensor<4x4xf16>, %{{.*}}: tensor<4x4xf16>):
// CHECK-NEXT: graph.matmul %[[N]]
func.func @both(%h0: tensor<4x4xf32>, %u: tensor<4x4xf16>) -> tensor<4x4xf32> {
  %h = graph.scan 3 carry(%h0 : tensor<4x4xf32>) with(%u : tensor<4x4xf16>) -> (tensor<4x4xf32>) {
  ^bb0(%hb: tensor<4x4xf32>, %ub: tensor<4x4xf16>):
    %0 = graph.cast %hb : tensor<4x4xf32> to tensor<4x4xf16>
    %1 = graph.matmul %0, %ub : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
    %2 = graph.cast %1 : tensor<4x4xf16> to tensor<4x4xf32>
    %3 = graph.add %hb, %2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    graph.scan_yield %3 : tensor<4x4xf32>
  }
  return %h : tensor<4x4xf32>
}

// -----
// The factor may be the carried value itself: it is stacked as iterations are given it.
// CHECK-LABEL: func.func @of_a_carried_value
// CHECK: graph.scan 3 carry(%arg0 : tensor<2x4xf32>) -> (tensor<2x4xf32>) stack(tensor<3x2x4xf32>)
// CHECK-NEXT: ^bb0(%[[H:.*]]: tensor<2x4xf32>):
// CHECK: graph.scan_yield %{{.*}}, %[[H]] : tensor<2x4xf32>, tensor<2x4xf32>
// CHECK: graph.reduce_sum
func.func @of_a_carried_value(%h0: tensor<2x4xf32>, %b0: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>) {
  %h, %b = graph.scan 3 carry(%h0, %b0 : tensor<2x4xf32>, tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>) {
  ^bb0(%hb: tensor<2x4xf32>, %bb: tensor<4xf32>):
    %0 = graph.tanh %hb : tensor<2x4xf32>
    %1 = graph.reduce_sum %hb {axes = array<i64: 0>, keepdims = false} : (tensor<2x4xf32>) -> tensor<4xf32>
    %2 = graph.add %bb, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.scan_yield %0, %2 : tensor<2x4xf32>, tensor<4xf32>
  }
  return %h, %b : tensor<2x4xf32>, tensor<4xf32>
}

// -----
// A sum of rounded terms is another number than the rounded sum, so it stays. Only where the scan sums gradients, terms are rounded together.
// CHECK-LABEL: func.func @rounded_terms
// CHECK: graph.scan 3 carry(%arg0 : tensor<i64>)
// CHECK: graph.scan 3 carry(%arg1 : tensor<5x4xf32>)
// CHECK: graph.matmul {{.*}}{transpose_a}
// CHECK: return
// CHECK-LABEL: func.func @gradients
// CHECK-NOT: graph.scan
// CHECK: graph.matmul {{.*}}{transpose_a} : (tensor<6x5xf16>, tensor<6x4xf16>) -> tensor<5x4xf16>
func.func @rounded_terms(%i0: tensor<i64>, %w0: tensor<5x4xf32>, %x: tensor<3x2x5xf16>, %y: tensor<3x2x4xf16>) -> (tensor<i64>, tensor<5x4xf32>) {
  %i = graph.scan 3 carry(%i0 : tensor<i64>) over(%x : tensor<3x2x5xf16>) -> (tensor<i64>) {
  ^bb0(%ib: tensor<i64>, %xt: tensor<2x5xf16>):
    %0 = graph.reduce_sum %xt {axes = array<i64: 0, 1>, keepdims = false} : (tensor<2x5xf16>) -> tensor<f16>
    %1 = graph.cast %0 : tensor<f16> to tensor<i64>
    %2 = graph.add %ib, %1 : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.scan_yield %2 : tensor<i64>
  }
  %w = graph.scan 3 carry(%w0 : tensor<5x4xf32>) over(%x, %y : tensor<3x2x5xf16>, tensor<3x2x4xf16>) -> (tensor<5x4xf32>) {
  ^bb0(%wb: tensor<5x4xf32>, %xt: tensor<2x5xf16>, %yt: tensor<2x4xf16>):
    %0 = graph.matmul %xt, %yt {transpose_a} : (tensor<2x5xf16>, tensor<2x4xf16>) -> tensor<5x4xf16>
    %1 = graph.cast %0 : tensor<5x4xf16> to tensor<5x4xf32>
    %2 = graph.add %wb, %1 : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
    graph.scan_yield %2 : tensor<5x4xf32>
  }
  return %i, %w : tensor<i64>, tensor<5x4xf32>
}
func.func @gradients(%w0: tensor<5x4xf32>, %x: tensor<3x2x5xf16>, %y: tensor<3x2x4xf16>) -> tensor<5x4xf32> {
  %w = graph.scan 3 carry(%w0 : tensor<5x4xf32>) over(%x, %y : tensor<3x2x5xf16>, tensor<3x2x4xf16>) attributes {graph.sums_gradients} -> (tensor<5x4xf32>) {
  ^bb0(%wb: tensor<5x4xf32>, %xt: tensor<2x5xf16>, %yt: tensor<2x4xf16>):
    %0 = graph.matmul %xt, %yt {transpose_a} : (tensor<2x5xf16>, tensor<2x4xf16>) -> tensor<5x4xf16>
    %1 = graph.cast %0 : tensor<5x4xf16> to tensor<5x4xf32>
    %2 = graph.add %wb, %1 : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
    graph.scan_yield %2 : tensor<5x4xf32>
  }
  return %w : tensor<5x4xf32>
}

// -----
// Values that take each other's places are rounded in each iteration: carrying them rounded would never end.
// CHECK-LABEL: func.func @places
// CHECK: graph.scan 3 carry(%arg0, %arg1 : tensor<4xf32>, tensor<4xf32>)
func.func @places(%a0: tensor<4xf32>, %b0: tensor<4xf32>) -> (tensor<4xf32>, tensor<3x4xf16>) {
  %a, %b, %s = graph.scan 3 carry(%a0, %b0 : tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) stack(tensor<3x4xf16>) {
  ^bb0(%ab: tensor<4xf32>, %bb: tensor<4xf32>):
    %0 = graph.cast %ab : tensor<4xf32> to tensor<4xf16>
    graph.scan_yield %bb, %ab, %0 : tensor<4xf32>, tensor<4xf32>, tensor<4xf16>
  }
  return %a, %s : tensor<4xf32>, tensor<3x4xf16>
}
