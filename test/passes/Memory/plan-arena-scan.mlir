// RUN: mpc-opt %s --mpc-form-dispatches --mpc-find-reuse --mpc-plan-arena --mpc-verify-arena --split-input-file | FileCheck %s

// The result S has a slice of each carried value, so the carried value has a trail: the argument is copied to I, right before the slices of S, and each iteration writes its slice of S, which
// the next one reads. The last of them is the final value F.
// CHECK-LABEL: func.func @cell
// CHECK-SAME: (%{{.*}}: tensor<5x2x8xf32> {kernel.offset = [[X:[0-9]+]] : i64}, %{{.*}}: tensor<8x8xf32> {kernel.offset = [[U:[0-9]+]] : i64}, %{{.*}}: tensor<2x8xf32> {kernel.offset = [[H:[0-9]+]] : i64})
// CHECK-SAME: -> (tensor<2x8xf32> {kernel.offset = [[#F:]] : i64}, tensor<5x2x8xf32> {kernel.offset = [[#S:]] : i64})
// CHECK: kernel.dispatch pointwise "carry"{{.*}}args = array<i64: [[H]], [[#S-64]]>
// CHECK: graph.scan 5
// CHECK: kernel.dispatch contraction "matmul"{{.*}}{arg_steps = array<i64: 64, 0, 0>, args = array<i64: [[#S-64]], [[U]], [[P:[0-9]+]]>
// CHECK: kernel.dispatch pointwise "add+tanh"{{.*}}{arg_steps = array<i64: 0, 64, 64>, args = array<i64: [[P]], [[X]], [[#S]]>
// CHECK-NOT: "carry"
// CHECK: return
func.func @cell(%x: tensor<5x2x8xf32>, %u: tensor<8x8xf32>, %h0: tensor<2x8xf32>) -> (tensor<2x8xf32>, tensor<5x2x8xf32>) {
  %last, %all = graph.scan 5 carry(%h0 : tensor<2x8xf32>) with(%u : tensor<8x8xf32>) over(%x : tensor<5x2x8xf32>) -> (tensor<2x8xf32>) stack(tensor<5x2x8xf32>) {
  ^bb0(%h: tensor<2x8xf32>, %ub: tensor<8x8xf32>, %xt: tensor<2x8xf32>):
    %1 = graph.matmul %h, %ub : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %2 = graph.add %1, %xt : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %3 = graph.tanh %2 : tensor<2x8xf32>
    graph.scan_yield %3, %3 : tensor<2x8xf32>, tensor<2x8xf32>
  }
  return %last, %all : tensor<2x8xf32>, tensor<5x2x8xf32>
}

// -----
// From the last slice to the first: places move backward. A value that this entry computes, and that nothing else reads, becomes the carried value where it lies, and an elementwise
// body computes in place, without a copy.
// CHECK-LABEL: func.func @in_place
// CHECK: kernel.dispatch pointwise "exp"{{.*}}args = array<i64: {{[0-9]+}}, [[C:[0-9]+]]>
// CHECK-NOT: "carry"
// CHECK: graph.scan 4 reverse
// CHECK: kernel.dispatch pointwise "mul"{{.*}}{arg_steps = array<i64: 0, -64, 0>, args = array<i64: [[C]], {{[0-9]+}}, [[C]]>, in_place = array<i64: 0>
// CHECK-NOT: "carry"
func.func @in_place(%x: tensor<4x16xf32>, %h0: tensor<16xf32>) -> tensor<16xf32> {
  %0 = graph.exp %h0 : tensor<16xf32>
  %last = graph.scan 4 reverse carry(%0 : tensor<16xf32>) over(%x : tensor<4x16xf32>) -> (tensor<16xf32>) {
  ^bb0(%h: tensor<16xf32>, %xt: tensor<16xf32>):
    %1 = graph.mul %h, %xt : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
    graph.scan_yield %1 : tensor<16xf32>
  }
  return %last : tensor<16xf32>
}

// -----
// Two carried values change places: both are saved before either is overwritten. The slice of the result is the carried value before this iteration, so it is copied first.
// CHECK-LABEL: func.func @swap
// CHECK: graph.scan 3
// CHECK: kernel.dispatch pointwise "stack"{{.*}}arg_steps = array<i64: 0, 64>
// CHECK: kernel.dispatch pointwise "save"
// CHECK: kernel.dispatch pointwise "save"
// CHECK: kernel.dispatch pointwise "carry"
// CHECK: kernel.dispatch pointwise "carry"
// CHECK: graph.scan_yield
func.func @swap(%a0: tensor<16xf32>, %b0: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<3x16xf32>) {
  %a, %b, %s = graph.scan 3 carry(%a0, %b0 : tensor<16xf32>, tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) stack(tensor<3x16xf32>) {
  ^bb0(%ab: tensor<16xf32>, %bb: tensor<16xf32>):
    graph.scan_yield %bb, %ab, %ab : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
  }
  return %a, %b, %s : tensor<16xf32>, tensor<16xf32>, tensor<3x16xf32>
}

// -----
// A value that another launch still reads does not lie in a trail. A view of the carried value, and of what is stacked, is a view.
// CHECK-LABEL: func.func @views
// CHECK: kernel.dispatch pointwise "exp"{{.*}}args = array<i64: {{[0-9]+}}, [[E:[0-9]+]]>
// CHECK: kernel.dispatch pointwise "carry"{{.*}}args = array<i64: [[E]], [[#V:]]>
// CHECK: graph.scan 3
// CHECK: kernel.dispatch pointwise "tanh"{{.*}}args = array<i64: [[#V]], [[#V+64]]>
// CHECK: kernel.dispatch pointwise "add"{{.*}}args = array<i64: [[E]], [[#V+192]], {{[0-9]+}}>
func.func @views(%h0: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<3x16xf32>) {
  %0 = graph.exp %h0 : tensor<4x4xf32>
  %last, %all = graph.scan 3 carry(%0 : tensor<4x4xf32>) -> (tensor<4x4xf32>) stack(tensor<3x16xf32>) {
  ^bb0(%h: tensor<4x4xf32>):
    %1 = graph.reshape %h : tensor<4x4xf32> to tensor<16xf32>
    %2 = graph.tanh %1 : tensor<16xf32>
    %3 = graph.reshape %2 : tensor<16xf32> to tensor<4x4xf32>
    graph.scan_yield %3, %2 : tensor<4x4xf32>, tensor<16xf32>
  }
  %4 = graph.add %0, %last : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %4, %all : tensor<4x4xf32>, tensor<3x16xf32>
}

// -----
// A reverse scan goes down its trail. Stacks of what iterations are given and of what they carry on lie in it, one slice apart, and the computed argument in its last slice.
// CHECK-LABEL: func.func @reverse_trail
// CHECK-SAME: -> (tensor<16xf32> {kernel.offset = [[#R:]] : i64}
// CHECK-SAME: tensor<3x16xf32> {kernel.offset = [[#R]] : i64}, tensor<3x16xf32> {kernel.offset = [[#R+64]] : i64})
// CHECK: kernel.dispatch pointwise "exp"{{.*}}args = array<i64: {{[0-9]+}}, [[#R+192]]>
// CHECK-NEXT: ^bb0
// CHECK-NOT: "carry"
// CHECK: graph.scan 3 reverse
// CHECK: kernel.dispatch pointwise "tanh"{{.*}}{arg_steps = array<i64: -64, -64>, args = array<i64: [[#R+192]], [[#R+128]]>
// CHECK-NOT: kernel.dispatch
// CHECK: return
func.func @reverse_trail(%h0: tensor<16xf32>) -> (tensor<16xf32>, tensor<3x16xf32>, tensor<3x16xf32>) {
  %0 = graph.exp %h0 : tensor<16xf32>
  %last, %after, %before = graph.scan 3 reverse carry(%0 : tensor<16xf32>) -> (tensor<16xf32>) stack(tensor<3x16xf32>, tensor<3x16xf32>) {
  ^bb0(%h: tensor<16xf32>):
    %1 = graph.tanh %h : tensor<16xf32>
    graph.scan_yield %1, %1, %h : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
  }
  return %last, %after, %before : tensor<16xf32>, tensor<3x16xf32>, tensor<3x16xf32>
}
