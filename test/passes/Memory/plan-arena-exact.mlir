// RUN: mpc-opt %s --mpc-plan-arena --split-input-file | FileCheck %s

// Variables come first, then constants, each at a multiple of 64 bytes. Each has a place of its own, even without elements; equal constants share theirs.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 512, state_bytes = 256, constant_bytes = 128, temporary_bytes = 128, peak_bytes = 512, saved_bytes = 0>}
// CHECK: train.variable @a {{.*}}kernel.offset = 0 : i64
// CHECK: train.variable @b {{.*}}kernel.offset = 64 : i64
// CHECK: train.variable @none {{.*}}kernel.offset = 192 : i64
// CHECK: func.func @f(%{{.*}}: tensor<4xf32> {kernel.offset = 384 : i64}) -> (tensor<4xf32> {kernel.offset = 448 : i64})
// CHECK: graph.constant {kernel.offset = 256 : i64} dense<[1.000000e+00,
// CHECK: graph.constant {kernel.offset = 320 : i64} dense<>
// CHECK: graph.constant {kernel.offset = 256 : i64} dense<[1.000000e+00,
// CHECK: kernel.dispatch pointwise "sum"{{.*}}args = array<i64: 384, 256, 320, 256, 448>
module {
  train.variable @a parameter : tensor<1xf32> = #train.fill<0.5 : f64>
  train.variable @b parameter : tensor<25xf32> = #train.fill<0.5 : f64>
  train.variable @none buffer : tensor<0xf32> = #train.fill<0.5 : f64>
  func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
    %c = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %e = graph.constant dense<> : tensor<0xf32>
    %d = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %r = kernel.dispatch pointwise "sum" (%x, %c, %e, %d) : (tensor<4xf32>, tensor<4xf32>, tensor<0xf32>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%0: tensor<4xf32>, %1: tensor<4xf32>, %2: tensor<0xf32>, %3: tensor<4xf32>):
      %s = graph.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %t = graph.add %s, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      kernel.yield %t : tensor<4xf32>
    }
    return %r : tensor<4xf32>
  }
}

// -----
// Large buffers are placed first, each where no other buffer is live at the same time. Two of 1024 bytes are at 0, all others at 1024.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 1536, state_bytes = 0, constant_bytes = 0, temporary_bytes = 1536, peak_bytes = 1536, saved_bytes = 0>}
// CHECK: func.func @chain(%{{.*}}: tensor<64xf32> {kernel.offset = 1024 : i64}) -> (tensor<64xf32> {kernel.offset = 1024 : i64})
// CHECK: kernel.dispatch pointwise "first"{{.*}}args = array<i64: 1024, 0>
// CHECK: kernel.dispatch pointwise "second"{{.*}}args = array<i64: 0, 1024>
// CHECK: kernel.dispatch pointwise "third"{{.*}}args = array<i64: 1024, 0>
// CHECK: kernel.dispatch pointwise "fourth"{{.*}}args = array<i64: 0, 1024>
func.func @chain(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = kernel.dispatch pointwise "first" (%x) : (tensor<64xf32>) -> tensor<256xf32> {
  ^bb0(%a: tensor<64xf32>):
    %r = graph.concat %a, %a, %a, %a {axis = 0 : i64} : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<256xf32>
    kernel.yield %r : tensor<256xf32>
  }
  %1 = kernel.dispatch pointwise "second" (%0) : (tensor<256xf32>) -> tensor<128xf32> {
  ^bb0(%a: tensor<256xf32>):
    %r = graph.slice %a {starts = array<i64: 0>, sizes = array<i64: 128>, strides = array<i64: 1>} : (tensor<256xf32>) -> tensor<128xf32>
    kernel.yield %r : tensor<128xf32>
  }
  %2 = kernel.dispatch pointwise "third" (%1) : (tensor<128xf32>) -> tensor<256xf32> {
  ^bb0(%a: tensor<128xf32>):
    %r = graph.concat %a, %a {axis = 0 : i64} : (tensor<128xf32>, tensor<128xf32>) -> tensor<256xf32>
    kernel.yield %r : tensor<256xf32>
  }
  %3 = kernel.dispatch pointwise "fourth" (%2) : (tensor<256xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<256xf32>):
    %r = graph.slice %a {starts = array<i64: 0>, sizes = array<i64: 64>, strides = array<i64: 1>} : (tensor<256xf32>) -> tensor<64xf32>
    kernel.yield %r : tensor<64xf32>
  }
  return %3 : tensor<64xf32>
}

// -----
// A value lives until its last view has been read.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 768,
// CHECK: kernel.dispatch pointwise "first"{{.*}}args = array<i64: 0, 256>
// CHECK: kernel.dispatch pointwise "between"{{.*}}args = array<i64: 0, 512>
// CHECK: kernel.dispatch pointwise "last"{{.*}}args = array<i64: 256, 512, 0>
func.func @view(%x: tensor<64xf32>) -> tensor<8x8xf32> {
  %0 = kernel.dispatch pointwise "first" (%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>):
    %r = graph.exp %a : tensor<64xf32>
    kernel.yield %r : tensor<64xf32>
  }
  %v = graph.reshape %0 : tensor<64xf32> to tensor<8x8xf32>
  %1 = kernel.dispatch pointwise "between" (%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>):
    %r = graph.tanh %a : tensor<64xf32>
    kernel.yield %r : tensor<64xf32>
  }
  %u = graph.reshape %1 : tensor<64xf32> to tensor<8x8xf32>
  %2 = kernel.dispatch pointwise "last" (%v, %u) : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>, %b: tensor<8x8xf32>):
    %r = graph.add %a, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %r : tensor<8x8xf32>
  }
  return %2 : tensor<8x8xf32>
}

// -----
// Scratch lives only during its launch. It takes 1000 bytes at 0, and another launch's scratch is later at the same place.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 1536,
// CHECK: kernel.dispatch contraction "split"{{.*}}args = array<i64: 1024, 1280>{{.*}}scratch_bytes = 1000 : i64, scratch_offset = 0 : i64
// CHECK: kernel.dispatch contraction "again"{{.*}}args = array<i64: 1280, 960>{{.*}}scratch_bytes = 900 : i64, scratch_offset = 0 : i64
// CHECK: kernel.dispatch contraction "whole"{{.*}}args = array<i64: 960, 0>
// CHECK-NOT: scratch_offset
func.func @scratch(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = kernel.dispatch contraction "split" (%x) {scratch_bytes = 1000 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %r = graph.matmul %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %r : tensor<8x8xf32>
  }
  %1 = kernel.dispatch contraction "again" (%0) {scratch_bytes = 900 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %r = graph.matmul %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %r : tensor<8x8xf32>
  }
  %2 = kernel.dispatch contraction "whole" (%1) {scratch_bytes = 0 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %r = graph.matmul %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %r : tensor<8x8xf32>
  }
  return %2 : tensor<8x8xf32>
}

// -----
// A launch of the entry writes each result, so a result that is an argument, a variable or a constant is copied.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 320, state_bytes = 64, constant_bytes = 64, temporary_bytes = 192, peak_bytes = 320, saved_bytes = 0>}
// CHECK: func.func @results(%{{.*}}: tensor<4xf32> {kernel.offset = 128 : i64}) -> (tensor<4xf32> {kernel.offset = 192 : i64}, tensor<4xf32> {kernel.offset = 128 : i64}, tensor<4xf32> {kernel.offset = 256 : i64})
// CHECK: kernel.dispatch pointwise "result"{{.*}}args = array<i64: 128, 192>
// CHECK: kernel.dispatch pointwise "result"{{.*}}args = array<i64: 0, 128>
// CHECK: kernel.dispatch pointwise "result"{{.*}}args = array<i64: 64, 256>
module {
  train.variable @w parameter : tensor<4xf32> = #train.fill<0.5 : f64>
  func.func @results(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %w = train.read @w : tensor<4xf32>
    %c = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    return %x, %w, %c : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}

// -----
// Two variables change places, so both old values are saved before the first is overwritten.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 256, state_bytes = 128, constant_bytes = 0, temporary_bytes = 128, peak_bytes = 256, saved_bytes = 0>}
// CHECK: kernel.dispatch pointwise "save"{{.*}}args = array<i64: 0, 128>
// CHECK: kernel.dispatch pointwise "save"{{.*}}args = array<i64: 64, 192>
// CHECK: kernel.dispatch pointwise "assign"{{.*}}args = array<i64: 192, 0>
// CHECK: train.assign @a
// CHECK: kernel.dispatch pointwise "assign"{{.*}}args = array<i64: 128, 64>
// CHECK: train.assign @b
module {
  train.variable @a buffer : tensor<4xf32> = #train.fill<0.5 : f64>
  train.variable @b buffer : tensor<4xf32> = #train.fill<1.5 : f64>
  func.func @swap() {
    %a = train.read @a : tensor<4xf32>
    %b = train.read @b : tensor<4xf32>
    train.assign @a, %b : tensor<4xf32>
    train.assign @b, %a : tensor<4xf32>
    return
  }
}

// -----
// A later launch reads the old value, so that the new one is copied at the end.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 192,
// CHECK: kernel.dispatch pointwise "new"{{.*}}args = array<i64: 0, 64, 128>
// CHECK: kernel.dispatch pointwise "old"{{.*}}args = array<i64: 0, 64>
// CHECK: kernel.dispatch pointwise "assign"{{.*}}args = array<i64: 128, 0>
module {
  train.variable @w parameter : tensor<4xf32> = #train.fill<0.5 : f64>
  func.func @read_later(%d: tensor<4xf32>) -> tensor<4xf32> {
    %w = train.read @w : tensor<4xf32>
    %0 = kernel.dispatch pointwise "new" (%w, %d) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
      %r = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      kernel.yield %r : tensor<4xf32>
    }
    train.assign @w, %0 : tensor<4xf32>
    %1 = kernel.dispatch pointwise "old" (%w) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %r = graph.exp %a : tensor<4xf32>
      kernel.yield %r : tensor<4xf32>
    }
    return %1 : tensor<4xf32>
  }
}

// -----
// The forward pass is what the loss needs. It leaves its argument and one value to other launches, which are 512 bytes. The entries use the same memory one
// after the other; a trace needs more of it, but that does not count as a peak.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 4416, state_bytes = 256, constant_bytes = 0, temporary_bytes = 576, peak_bytes = 832, saved_bytes = 512>}
// CHECK: train.step @main(%{{.*}}: tensor<64xf32> {kernel.offset = 256 : i64}) -> (tensor<f32> {kernel.offset = 768 : i64})
// CHECK: kernel.dispatch pointwise "forward"{{.*}}args = array<i64: 256, 512>
// CHECK: kernel.dispatch reduction "loss"{{.*}}args = array<i64: 512, 768>
// CHECK: kernel.dispatch pointwise "backward"{{.*}}args = array<i64: 512, 256, 0>
// CHECK: train.step @main.trace(%{{.*}}: tensor<64xf32> {kernel.offset = 256 : i64}) -> (tensor<f32> {kernel.offset = 4352 : i64}, tensor<1024xf32> {kernel.offset = 256 : i64})
// CHECK: kernel.dispatch reduction "loss"{{.*}}args = array<i64: 256, 4352>
// CHECK: kernel.dispatch pointwise "gradients"{{.*}}args = array<i64: 4352, 256>
module {
  train.variable @g buffer : tensor<64xf32> = #train.fill<0.0 : f64>
  train.step @main(%x: tensor<64xf32>) -> tensor<f32> attributes {optimizer = #train.optimizer<sgd>, parameters = [], scaler = #train.scaler<none>} {
    %0 = kernel.dispatch pointwise "forward" (%x) : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%a: tensor<64xf32>):
      %r = graph.exp %a : tensor<64xf32>
      kernel.yield %r : tensor<64xf32>
    }
    %1 = kernel.dispatch reduction "loss" (%0) : (tensor<64xf32>) -> tensor<f32> {
    ^bb0(%a: tensor<64xf32>):
      %r = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<64xf32>) -> tensor<f32>
      kernel.yield %r : tensor<f32>
    }
    %2 = kernel.dispatch pointwise "backward" (%0, %x) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
      %r = graph.mul %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      kernel.yield %r : tensor<64xf32>
    }
    train.assign @g, %2 : tensor<64xf32>
    train.yield %1 : tensor<f32>
  }
  train.step @main.trace(%x: tensor<64xf32>) -> (tensor<f32>, tensor<1024xf32>) attributes {optimizer = #train.optimizer<sgd>, parameters = [], scaler = #train.scaler<none>, trace} {
    %0 = kernel.dispatch reduction "loss" (%x) : (tensor<64xf32>) -> tensor<f32> {
    ^bb0(%a: tensor<64xf32>):
      %r = graph.reduce_sum %a {axes = array<i64: 0>, keepdims = false} : (tensor<64xf32>) -> tensor<f32>
      kernel.yield %r : tensor<f32>
    }
    %1 = kernel.dispatch pointwise "gradients" (%0) : (tensor<f32>) -> tensor<1024xf32> {
    ^bb0(%a: tensor<f32>):
      %r = graph.broadcast %a : tensor<f32> to tensor<1024xf32>
      kernel.yield %r : tensor<1024xf32>
    }
    train.yield %0, %1 : tensor<f32>, tensor<1024xf32>
  }
}
