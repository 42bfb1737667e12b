// RUN: mpc-opt %s --mpc-find-reuse --split-input-file | FileCheck %s --check-prefixes=CHECK,HOST
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-find-reuse --split-input-file | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: mpc-opt %s --mpc-find-reuse --mpc-find-reuse --split-input-file | FileCheck %s --check-prefixes=CHECK,HOST

// A point reads the elements with its own number, also through a view and through a transpose that only moves dimensions of one index.
// CHECK: kernel.dispatch pointwise "point"{{.*}}may_reuse = [array<i64: 0, 1, 2>]
func.func @point(%x: tensor<6x10xf32>, %y: tensor<60xf32>, %z: tensor<6x1x10xf32>) -> tensor<6x10xf32> {
  %0 = kernel.dispatch pointwise "point" (%x, %y, %z) : (tensor<6x10xf32>, tensor<60xf32>, tensor<6x1x10xf32>) -> tensor<6x10xf32> {
  ^bb0(%a: tensor<6x10xf32>, %b: tensor<60xf32>, %c: tensor<6x1x10xf32>):
    %b1 = graph.reshape %b : tensor<60xf32> to tensor<6x10xf32>
    %c1 = graph.transpose %c {permutation = array<i64: 1, 0, 2>} : (tensor<6x1x10xf32>) -> tensor<1x6x10xf32>
    %c2 = graph.reshape %c1 : tensor<1x6x10xf32> to tensor<6x10xf32>
    %s = graph.add %a, %b1 : (tensor<6x10xf32>, tensor<6x10xf32>) -> tensor<6x10xf32>
    %r = graph.mul %s, %c2 : (tensor<6x10xf32>, tensor<6x10xf32>) -> tensor<6x10xf32>
    kernel.yield %r : tensor<6x10xf32>
  }
  return %0 : tensor<6x10xf32>
}

// -----
// Elements in other places are overwritten before they are read: transposed, reversed, broadcast, or read in two places, whichever comes first.
// CHECK: kernel.dispatch pointwise "elsewhere"
// CHECK-NOT: may_reuse
// CHECK: ^bb0
func.func @elsewhere(%x: tensor<8x8xf32>, %y: tensor<8x8xf32>, %z: tensor<8x8xf32>, %q: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = kernel.dispatch pointwise "elsewhere" (%x, %y, %z, %q) : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>, %c: tensor<8x8xf32>, %d: tensor<8x8xf32>):
    %e = graph.exp %d : tensor<8x8xf32>
    %f = graph.transpose %d {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %t = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %r = graph.slice %b {starts = array<i64: 0, 7>, sizes = array<i64: 8, 8>, strides = array<i64: 1, -1>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %v = graph.slice %c {starts = array<i64: 7, 0>, sizes = array<i64: 8, 8>, strides = array<i64: -1, 1>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %s = graph.add %t, %r : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %u = graph.add %c, %v : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %w = graph.add %s, %u : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %g = graph.add %e, %f : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %h = graph.add %w, %g : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %h : tensor<8x8xf32>
  }
  return %0 : tensor<8x8xf32>
}

// -----
// Softmax reads a row before it writes it. The maximum that was computed before is read for each point of a row, so on a GPU, where threads share a row, the sum may not take its place.
// CHECK: kernel.dispatch row "softmax"
// HOST-SAME: may_reuse = [array<i64: 0>, array<i64: 1>]
// GPU-SAME: may_reuse = [array<i64: 0>, array<i64>]
func.func @softmax(%x: tensor<6x10xf32>, %m: tensor<6x1xf32>) -> (tensor<6x10xf32>, tensor<6x1xf32>) {
  %0:2 = kernel.dispatch row "softmax" (%x, %m) : (tensor<6x10xf32>, tensor<6x1xf32>) -> (tensor<6x10xf32>, tensor<6x1xf32>) {
  ^bb0(%a: tensor<6x10xf32>, %b: tensor<6x1xf32>):
    %d = graph.sub %a, %b : (tensor<6x10xf32>, tensor<6x1xf32>) -> tensor<6x10xf32>
    %e = graph.exp %d : tensor<6x10xf32>
    %s = graph.reduce_sum %e {axes = array<i64: 1>, keepdims = true} : (tensor<6x10xf32>) -> tensor<6x1xf32>
    %y = graph.div %e, %s : (tensor<6x10xf32>, tensor<6x1xf32>) -> tensor<6x10xf32>
    kernel.yield %y, %s : tensor<6x10xf32>, tensor<6x1xf32>
  }
  return %0#0, %0#1 : tensor<6x10xf32>, tensor<6x1xf32>
}

// -----
// One thread reads a number that is added to a row's sum, so the result may take its place on a GPU too.
// CHECK: kernel.dispatch reduction "sum"{{.*}}may_reuse = [array<i64: 1>]
func.func @sum(%x: tensor<6x10xf32>, %m: tensor<6xf32>) -> tensor<6xf32> {
  %0 = kernel.dispatch reduction "sum" (%x, %m) : (tensor<6x10xf32>, tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<6x10xf32>, %b: tensor<6xf32>):
    %s = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<6x10xf32>) -> tensor<6xf32>
    %y = graph.add %s, %b : (tensor<6xf32>, tensor<6xf32>) -> tensor<6xf32>
    kernel.yield %y : tensor<6xf32>
  }
  return %0 : tensor<6xf32>
}

// -----
// In a square of rows and columns the counts of both agree, but the operand is broadcast along the kept dimension: a row reads all of it.
// CHECK: kernel.dispatch reduction "square"
// CHECK-NOT: may_reuse
// CHECK: ^bb0
func.func @square(%x: tensor<8x8xf32>, %m: tensor<1x8xf32>) -> tensor<8xf32> {
  %0 = kernel.dispatch reduction "square" (%x, %m) : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8x8xf32>, %b: tensor<1x8xf32>):
    %p = graph.mul %a, %b : (tensor<8x8xf32>, tensor<1x8xf32>) -> tensor<8x8xf32>
    %s = graph.reduce_sum %p {axes = array<i64: 1>, keepdims = false} : (tensor<8x8xf32>) -> tensor<8xf32>
    kernel.yield %s : tensor<8xf32>
  }
  return %0 : tensor<8xf32>
}

// -----
// Cells of another size are other places, even where as many bytes are read.
// CHECK: kernel.dispatch pointwise "narrowed"
// CHECK-NOT: may_reuse
// CHECK: ^bb0
func.func @narrowed(%x: tensor<16xf32>) -> tensor<16xf16> {
  %0 = kernel.dispatch pointwise "narrowed" (%x) : (tensor<16xf32>) -> tensor<16xf16> {
  ^bb0(%a: tensor<16xf32>):
    %y = graph.cast %a : tensor<16xf32> to tensor<16xf16>
    kernel.yield %y : tensor<16xf16>
  }
  return %0 : tensor<16xf16>
}

// -----
// A dropout computes four neighbours together: each of them reads its own element only.
// CHECK: kernel.dispatch pointwise "dropout"{{.*}}may_reuse = [array<i64: 0>]
func.func @dropout(%x: tensor<8x64xf32>, %s: tensor<i64>) -> tensor<8x64xf32> {
  %0 = kernel.dispatch pointwise "dropout" (%x, %s) : (tensor<8x64xf32>, tensor<i64>) -> tensor<8x64xf32> {
  ^bb0(%a: tensor<8x64xf32>, %b: tensor<i64>):
    %y = graph.dropout %a, %b, %b {ratio = 0.5 : f64, salt = 3 : i64} : (tensor<8x64xf32>, tensor<i64>, tensor<i64>) -> tensor<8x64xf32>
    kernel.yield %y : tensor<8x64xf32>
  }
  return %0 : tensor<8x64xf32>
}

// -----
// The permission of an earlier body goes where nothing is granted any more; nobody asks about products or about results without elements.
// CHECK-LABEL: func.func @others
// CHECK: kernel.dispatch pointwise "turned"(%arg0) :
// CHECK: kernel.dispatch contraction "product"({{.*}}) :
// CHECK: kernel.dispatch pointwise "nothing"(%arg1) :
// CHECK: kernel.dispatch pointwise "turned nothing"(%arg2) :
func.func @others(%x: tensor<8x8xf32>, %y: tensor<0xf32>, %z: tensor<0x4xf32>) -> (tensor<8x8xf32>, tensor<0xf32>, tensor<4x0xf32>, tensor<0x4xf32>) {
  %0 = kernel.dispatch pointwise "turned" (%x) {may_reuse = [array<i64>]} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %e = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %e : tensor<8x8xf32>
  }
  %1 = kernel.dispatch contraction "product" (%0) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %e = graph.matmul %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %e : tensor<8x8xf32>
  }
  %2 = kernel.dispatch pointwise "nothing" (%y) : (tensor<0xf32>) -> tensor<0xf32> {
  ^bb0(%a: tensor<0xf32>):
    %e = graph.exp %a : tensor<0xf32>
    kernel.yield %e : tensor<0xf32>
  }
  // Transposes and slices of nothing have no extent to divide by.
  %3:2 = kernel.dispatch pointwise "turned nothing" (%z) : (tensor<0x4xf32>) -> (tensor<4x0xf32>, tensor<0x4xf32>) {
  ^bb0(%a: tensor<0x4xf32>):
    %e = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<0x4xf32>) -> tensor<4x0xf32>
    %s = graph.slice %a {starts = array<i64: 0, 3>, sizes = array<i64: 0, 4>, strides = array<i64: 1, -1>} : (tensor<0x4xf32>) -> tensor<0x4xf32>
    kernel.yield %e, %s : tensor<4x0xf32>, tensor<0x4xf32>
  }
  return %1, %2, %3#0, %3#1 : tensor<8x8xf32>, tensor<0xf32>, tensor<4x0xf32>, tensor<0x4xf32>
}

// -----
// A part of a concatenation lies at other places than the points, so it takes over no input; the result beside it does.
// CHECK-LABEL: func.func @parts
// CHECK: kernel.dispatch pointwise "parts"{{.*}}may_reuse = [array<i64>, array<i64: 0, 1>]
func.func @parts(%x: tensor<6x10xf32>, %y: tensor<6x10xf32>) -> (tensor<6x20xf32>, tensor<6x10xf32>) {
  %0:2 = kernel.dispatch pointwise "parts" (%x, %y) : (tensor<6x10xf32>, tensor<6x10xf32>) -> (tensor<6x20xf32>, tensor<6x10xf32>) {
  ^bb0(%a: tensor<6x10xf32>, %b: tensor<6x10xf32>):
    %s = graph.mul %a, %b : (tensor<6x10xf32>, tensor<6x10xf32>) -> tensor<6x10xf32>
    %c = graph.concat %s, %b {axis = 1 : i64} : (tensor<6x10xf32>, tensor<6x10xf32>) -> tensor<6x20xf32>
    kernel.yield %c, %s : tensor<6x20xf32>, tensor<6x10xf32>
  }
  return %0#0, %0#1 : tensor<6x20xf32>, tensor<6x10xf32>
}
