// RUN: mpc-opt %s --mpc-sink-dispatches --split-input-file | FileCheck %s

// A weight's gradient of 1 MB is made from 64 KB that nothing else reads, and is needed only at the end. It is computed
// there, and a flag that is computed from it moves with it.
// CHECK-LABEL: func.func @late
// CHECK: kernel.dispatch reduction "between"
// CHECK: kernel.dispatch contraction "grad"
// CHECK: graph.reshape
// CHECK: kernel.dispatch reduction "flag"
// CHECK: kernel.dispatch pointwise "use"
func.func @late(%x: tensor<32x512xf32>, %y: tensor<32x512xf32>) -> tensor<512x512xf32> {
  %g = kernel.dispatch contraction "grad"(%x) : (tensor<32x512xf32>) -> tensor<512x512xf32> {
  ^bb0(%a: tensor<32x512xf32>):
    %0 = graph.matmul %a, %a {transpose_a} : (tensor<32x512xf32>, tensor<32x512xf32>) -> tensor<512x512xf32>
    kernel.yield %0 : tensor<512x512xf32>
  }
  %v = graph.reshape %g : tensor<512x512xf32> to tensor<262144xf32>
  %f = kernel.dispatch reduction "flag"(%v) : (tensor<262144xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<262144xf32>):
    %0 = graph.reduce_max %a {axes = array<i64: 0>, keepdims = false} : (tensor<262144xf32>) -> tensor<f32>
    kernel.yield %0 : tensor<f32>
  }
  %b = kernel.dispatch reduction "between"(%y) : (tensor<32x512xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<32x512xf32>):
    %0 = graph.reduce_max %a {axes = array<i64: 0, 1>, keepdims = false} : (tensor<32x512xf32>) -> tensor<f32>
    kernel.yield %0 : tensor<f32>
  }
  %u = kernel.dispatch pointwise "use"(%g, %f, %b) : (tensor<512x512xf32>, tensor<f32>, tensor<f32>) -> tensor<512x512xf32> {
  ^bb0(%a: tensor<512x512xf32>, %c: tensor<f32>, %d: tensor<f32>):
    %0 = graph.mul %a, %c : (tensor<512x512xf32>, tensor<f32>) -> tensor<512x512xf32>
    %1 = graph.add %0, %d : (tensor<512x512xf32>, tensor<f32>) -> tensor<512x512xf32>
    kernel.yield %1 : tensor<512x512xf32>
  }
  return %u : tensor<512x512xf32>
}

// -----
// This result is smaller than what it is made from, so its dispatch stays where it was.
// CHECK-LABEL: func.func @early
// CHECK: kernel.dispatch reduction "sum"
// CHECK: kernel.dispatch reduction "between"
// CHECK: kernel.dispatch pointwise "use"
func.func @early(%x: tensor<512x512xf32>, %y: tensor<32x512xf32>) -> tensor<512xf32> {
  %g = kernel.dispatch reduction "sum"(%x) : (tensor<512x512xf32>) -> tensor<512xf32> {
  ^bb0(%a: tensor<512x512xf32>):
    %0 = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<512x512xf32>) -> tensor<512xf32>
    kernel.yield %0 : tensor<512xf32>
  }
  %b = kernel.dispatch reduction "between"(%y) : (tensor<32x512xf32>) -> tensor<512xf32> {
  ^bb0(%a: tensor<32x512xf32>):
    %0 = graph.reduce_max %a {axes = array<i64: 0>, keepdims = false} : (tensor<32x512xf32>) -> tensor<512xf32>
    kernel.yield %0 : tensor<512xf32>
  }
  %u = kernel.dispatch pointwise "use"(%g, %b) : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32> {
  ^bb0(%a: tensor<512xf32>, %c: tensor<512xf32>):
    %0 = graph.add %a, %c : (tensor<512xf32>, tensor<512xf32>) -> tensor<512xf32>
    kernel.yield %0 : tensor<512xf32>
  }
  return %u : tensor<512xf32>
}

// -----
// This dispatch reads a variable that is assigned later, so moving it would cost a copy.
// CHECK-LABEL: func.func @assigned
// CHECK: kernel.dispatch pointwise "reads"
// CHECK: kernel.dispatch pointwise "update"
module {
  train.variable @w parameter : tensor<64xf32> = #train.fill<0.5 : f64>
  func.func @assigned(%x: tensor<64xf32>) -> tensor<64x64xf32> {
    %w = train.read @w : tensor<64xf32>
    %g = kernel.dispatch pointwise "reads"(%w) : (tensor<64xf32>) -> tensor<64x64xf32> {
    ^bb0(%a: tensor<64xf32>):
      %0 = graph.broadcast %a : tensor<64xf32> to tensor<64x64xf32>
      kernel.yield %0 : tensor<64x64xf32>
    }
    %n = kernel.dispatch pointwise "update"(%w, %x) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
      %0 = graph.sub %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      kernel.yield %0 : tensor<64xf32>
    }
    train.assign @w, %n : tensor<64xf32>
    %u = kernel.dispatch pointwise "use"(%g) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
    ^bb0(%a: tensor<64x64xf32>):
      %0 = graph.exp %a : tensor<64x64xf32>
      kernel.yield %0 : tensor<64x64xf32>
    }
    return %u : tensor<64x64xf32>
  }
}

// -----
// A value moves to its first reader, and its view with it. A barrier behind that reader stays where it is, behind the value that it waits for.
// CHECK-LABEL: func.func @behind_a_barrier
// CHECK: kernel.dispatch reduction "between"
// CHECK-NEXT: ^bb0
// CHECK: kernel.dispatch pointwise "double"
// CHECK: graph.reshape
// CHECK: kernel.dispatch reduction "first"
// CHECK: %[[W:.*]] = kernel.dispatch pointwise "awaited"
// CHECK: graph.barrier %{{.*}} after(%[[W]] : tensor<512x512xf32>)
// CHECK: kernel.dispatch reduction "again"
func.func @behind_a_barrier(%x: tensor<512x512xf32>, %y: tensor<32x512xf32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<512x512xf32>) {
  %q = kernel.dispatch pointwise "double"(%x) : (tensor<512x512xf32>) -> tensor<512x512xf32> {
  ^bb0(%a: tensor<512x512xf32>):
    %0 = graph.add %a, %a : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
    kernel.yield %0 : tensor<512x512xf32>
  }
  %b = kernel.dispatch reduction "between"(%y) : (tensor<32x512xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<32x512xf32>):
    %0 = graph.reduce_max %a {axes = array<i64: 0, 1>, keepdims = false} : (tensor<32x512xf32>) -> tensor<f32>
    kernel.yield %0 : tensor<f32>
  }
  %v = graph.reshape %q : tensor<512x512xf32> to tensor<262144xf32>
  %f = kernel.dispatch reduction "first"(%v) : (tensor<262144xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<262144xf32>):
    %0 = graph.reduce_max %a {axes = array<i64: 0>, keepdims = false} : (tensor<262144xf32>) -> tensor<f32>
    kernel.yield %0 : tensor<f32>
  }
  %w = kernel.dispatch pointwise "awaited"(%x) : (tensor<512x512xf32>) -> tensor<512x512xf32> {
  ^bb0(%a: tensor<512x512xf32>):
    %0 = graph.neg %a : tensor<512x512xf32>
    kernel.yield %0 : tensor<512x512xf32>
  }
  %r = graph.barrier %q after(%w : tensor<512x512xf32>) {number = 0 : i64} : tensor<512x512xf32>
  %s = kernel.dispatch reduction "again"(%r) : (tensor<512x512xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<512x512xf32>):
    %0 = graph.reduce_sum %a {axes = array<i64: 0, 1>, keepdims = false} : (tensor<512x512xf32>) -> tensor<f32>
    kernel.yield %0 : tensor<f32>
  }
  return %b, %f, %s, %w : tensor<f32>, tensor<f32>, tensor<f32>, tensor<512x512xf32>
}
