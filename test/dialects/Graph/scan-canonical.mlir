// RUN: mpc-opt %s --canonicalize --split-input-file | FileCheck %s

// Sums over the iterations leave the body: the factors of the product are a slice, which is read as a whole, and a value of the body, which is stacked; the sum of `c` reads the stack that is there already.
// CHECK-LABEL: func.func @sums
// CHECK: graph.scan 3 carry(%arg0 : tensor<2x4xf32>) -> (tensor<2x4xf32>) stack(tensor<3x2x4xf32>)
// CHECK-NOT: transpose_a
// CHECK: graph.scan_yield
// CHECK: graph.reduce_sum %{{.*}} {axes = array<i64: 0, 1>, keepdims = false} : (tensor<3x2x4xf32>) -> tensor<4xf32>
// CHECK-DAG: graph.add %arg3, %{{.*}} : (tensor<4xf32>
// CHECK-DAG: %[[X:.*]] = graph.reshape %arg1 : tensor<3x2x5xf32> to tensor<6x5xf32>
// CHECK-DAG: %[[Y:.*]] = graph.reshape %{{.*}} : tensor<3x2x4xf32> to tensor<6x4xf32>
// CHECK: graph.matmul %[[X]], %[[Y]] {transpose_a} : (tensor<6x5xf32>, tensor<6x4xf32>) -> tensor<5x4xf32>
// CHECK: graph.add %arg2, %{{.*}} : (tensor<5x4xf32>
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

// -----
// The gradient of a bias is a sum of sums that are rounded in between. It leaves the body too, is summed in fp32 there, and reads the stack that the other result has.
// CHECK-LABEL: func.func @bias
// CHECK: graph.scan 3 carry(%arg0 : tensor<2x4xf16>) {{.*}} stack(tensor<3x2x4xf16>)
// CHECK-NOT: graph.reduce_sum
// CHECK: graph.scan_yield
// CHECK: %[[UP:.*]] = graph.cast %{{.*}} : tensor<3x2x4xf16> to tensor<3x2x4xf32>
// CHECK: %[[SUM:.*]] = graph.reduce_sum %[[UP]] {axes = array<i64: 0, 1>, keepdims = false}
// CHECK: graph.add %arg1, %[[SUM]] : (tensor<4xf32>, tensor<4xf32>)
func.func @bias(%h0: tensor<2x4xf16>, %b0: tensor<4xf32>) -> (tensor<2x4xf16>, tensor<4xf32>, tensor<3x2x4xf16>) {
  %h, %b, %hs = graph.scan 3 carry(%h0, %b0 : tensor<2x4xf16>, tensor<4xf32>) attributes {graph.sums_gradients} -> (tensor<2x4xf16>, tensor<4xf32>) stack(tensor<3x2x4xf16>) {
  ^bb0(%hb: tensor<2x4xf16>, %bb: tensor<4xf32>):
    %0 = graph.tanh %hb : tensor<2x4xf16>
    %1 = graph.cast %0 : tensor<2x4xf16> to tensor<2x4xf32>
    %2 = graph.reduce_sum %1 {axes = array<i64: 0>, keepdims = false} : (tensor<2x4xf32>) -> tensor<4xf32>
    %3 = graph.cast %2 : tensor<4xf32> to tensor<4xf16>
    %4 = graph.cast %3 : tensor<4xf16> to tensor<4xf32>
    %5 = graph.add %bb, %4 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.scan_yield %0, %5, %0 : tensor<2x4xf16>, tensor<4xf32>, tensor<2x4xf16>
  }
  return %h, %b, %hs : tensor<2x4xf16>, tensor<4xf32>, tensor<3x2x4xf16>
}

// -----
// What each iteration and the first value widen is carried as it was before, for which nothing is rounded: the body widens it, and so does the reader of the last one.
// CHECK-LABEL: func.func @widened
// CHECK: %[[SCAN:.*]], %{{.*}} = graph.scan 3 carry(%arg0 : tensor<4x4xf16>) {{.*}} stack(tensor<3x4x4xf32>)
// CHECK: graph.cast %arg{{.*}} : tensor<4x4xf16> to tensor<4x4xf32>
// CHECK: graph.scan_yield %{{.*}} : tensor<4x4xf16>, tensor<4x4xf32>
// CHECK: graph.cast %[[SCAN]] : tensor<4x4xf16> to tensor<4x4xf32>
func.func @widened(%h0: tensor<4x4xf16>, %u: tensor<4x4xf16>) -> (tensor<4x4xf32>, tensor<3x4x4xf32>) {
  %i = graph.cast %h0 : tensor<4x4xf16> to tensor<4x4xf32>
  %h, %hs = graph.scan 3 carry(%i : tensor<4x4xf32>) with(%u : tensor<4x4xf16>) -> (tensor<4x4xf32>) stack(tensor<3x4x4xf32>) {
  ^bb0(%hb: tensor<4x4xf32>, %ub: tensor<4x4xf16>):
    %0 = graph.tanh %hb : tensor<4x4xf32>
    %1 = graph.cast %0 : tensor<4x4xf32> to tensor<4x4xf16>
    %2 = graph.matmul %1, %ub : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
    %3 = graph.cast %2 : tensor<4x4xf16> to tensor<4x4xf32>
    graph.scan_yield %3, %0 : tensor<4x4xf32>, tensor<4x4xf32>
  }
  return %h, %hs : tensor<4x4xf32>, tensor<3x4x4xf32>
}

// -----
// What iterations read rounded is carried rounded where the readers of the last value round it as well, and not where one of them does not.
// CHECK-LABEL: func.func @last_rounded
// CHECK: graph.scan 3 carry(%{{.*}} : tensor<4x4xf16>)
// CHECK-LABEL: func.func @last_whole
// CHECK: graph.scan 3 carry(%{{.*}} : tensor<4x4xf32>)
func.func @last_rounded(%h0: tensor<4x4xf32>, %u: tensor<4x4xf16>) -> tensor<4x4xf16> {
  %h = graph.scan 3 carry(%h0 : tensor<4x4xf32>) with(%u : tensor<4x4xf16>) -> (tensor<4x4xf32>) {
  ^bb0(%hb: tensor<4x4xf32>, %ub: tensor<4x4xf16>):
    %0 = graph.cast %hb : tensor<4x4xf32> to tensor<4x4xf16>
    %1 = graph.matmul %0, %ub : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
    %2 = graph.cast %1 : tensor<4x4xf16> to tensor<4x4xf32>
    %3 = graph.tanh %2 : tensor<4x4xf32>
    graph.scan_yield %3 : tensor<4x4xf32>
  }
  %r = graph.cast %h : tensor<4x4xf32> to tensor<4x4xf16>
  return %r : tensor<4x4xf16>
}
func.func @last_whole(%h0: tensor<4x4xf32>, %u: tensor<4x4xf16>) -> (tensor<4x4xf16>, tensor<4x4xf32>) {
  %h = graph.scan 3 carry(%h0 : tensor<4x4xf32>) with(%u : tensor<4x4xf16>) -> (tensor<4x4xf32>) {
  ^bb0(%hb: tensor<4x4xf32>, %ub: tensor<4x4xf16>):
    %0 = graph.cast %hb : tensor<4x4xf32> to tensor<4x4xf16>
    %1 = graph.matmul %0, %ub : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
    %2 = graph.cast %1 : tensor<4x4xf16> to tensor<4x4xf32>
    %3 = graph.tanh %2 : tensor<4x4xf32>
    graph.scan_yield %3 : tensor<4x4xf32>
  }
  %r = graph.cast %h : tensor<4x4xf32> to tensor<4x4xf16>
  return %r, %h : tensor<4x4xf16>, tensor<4x4xf32>
}

// -----
// A stack of the carried value that is narrowed as well may be rounded otherwise than the readers of the last value expect: that is widened itself.
// CHECK-LABEL: func.func @widened_and_stacked
// CHECK: %[[SCAN:.*]], %{{.*}} = graph.scan 3 carry(%arg0 : tensor<4x4xf16>) {{.*}} stack(tensor<3x4x4xbf16>)
// CHECK: %[[LAST:.*]] = graph.cast %[[SCAN]] : tensor<4x4xf16> to tensor<4x4xf32>
// CHECK: return %[[LAST]],
func.func @widened_and_stacked(%h0: tensor<4x4xf16>, %u: tensor<4x4xf16>) -> (tensor<4x4xf32>, tensor<3x4x4xbf16>) {
  %i = graph.cast %h0 : tensor<4x4xf16> to tensor<4x4xf32>
  %h, %hs = graph.scan 3 carry(%i : tensor<4x4xf32>) with(%u : tensor<4x4xf16>) -> (tensor<4x4xf32>) stack(tensor<3x4x4xf32>) {
  ^bb0(%hb: tensor<4x4xf32>, %ub: tensor<4x4xf16>):
    %0 = graph.tanh %hb : tensor<4x4xf32>
    %1 = graph.cast %0 : tensor<4x4xf32> to tensor<4x4xf16>
    %2 = graph.matmul %1, %ub : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
    %3 = graph.cast %2 : tensor<4x4xf16> to tensor<4x4xf32>
    graph.scan_yield %3, %3 : tensor<4x4xf32>, tensor<4x4xf32>
  }
  %r = graph.cast %hs : tensor<3x4x4xf32> to tensor<3x4x4xbf16>
  return %h, %r : tensor<4x4xf32>, tensor<3x4x4xbf16>
}

// -----
// The first value is not rounded, so that the carried one stays wide.
// CHECK-LABEL: func.func @widened_but_the_first
// CHECK: graph.scan 3 carry(%{{.*}} : tensor<4x4xf32>)
func.func @widened_but_the_first(%h0: tensor<4x4xf32>, %u: tensor<4x4xf16>) -> tensor<4x4xf32> {
  %h = graph.scan 3 carry(%h0 : tensor<4x4xf32>) with(%u : tensor<4x4xf16>) -> (tensor<4x4xf32>) {
  ^bb0(%hb: tensor<4x4xf32>, %ub: tensor<4x4xf16>):
    %0 = graph.tanh %hb : tensor<4x4xf32>
    %1 = graph.cast %0 : tensor<4x4xf32> to tensor<4x4xf16>
    %2 = graph.matmul %1, %ub : (tensor<4x4xf16>, tensor<4x4xf16>) -> tensor<4x4xf16>
    %3 = graph.cast %2 : tensor<4x4xf16> to tensor<4x4xf32>
    graph.scan_yield %3 : tensor<4x4xf32>
  }
  return %h : tensor<4x4xf32>
}

// -----
// A sum that is no gradient keeps the rounding of its terms in the body.
// CHECK-LABEL: func.func @no_gradient
// CHECK: graph.scan 3
// CHECK: graph.reduce_sum
// CHECK: graph.scan_yield
func.func @no_gradient(%x: tensor<3x2x4xf32>, %b0: tensor<4xf32>) -> tensor<4xf32> {
  %b = graph.scan 3 carry(%b0 : tensor<4xf32>) over(%x : tensor<3x2x4xf32>) -> (tensor<4xf32>) {
  ^bb0(%bb: tensor<4xf32>, %xt: tensor<2x4xf32>):
    %0 = graph.reduce_sum %xt {axes = array<i64: 0>, keepdims = false} : (tensor<2x4xf32>) -> tensor<4xf32>
    %1 = graph.cast %0 : tensor<4xf32> to tensor<4xf16>
    %2 = graph.cast %1 : tensor<4xf16> to tensor<4xf32>
    %3 = graph.add %bb, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    graph.scan_yield %3 : tensor<4xf32>
  }
  return %b : tensor<4xf32>
}
