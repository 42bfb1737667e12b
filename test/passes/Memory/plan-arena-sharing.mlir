// RUN: mpc-opt %s --mpc-plan-arena --split-input-file | FileCheck %s

// Results take over the buffers of inputs that die with them, as `may_reuse` says. The four values of a chain need one buffer of 1024 bytes.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 1088, state_bytes = 0, constant_bytes = 0, temporary_bytes = 1088, peak_bytes = 1088, saved_bytes = 0>}
// CHECK: func.func @chain(%{{.*}}: tensor<4xf32> {kernel.offset = 1024 : i64}) -> (tensor<64x4xf32> {kernel.offset = 0 : i64})
// CHECK: kernel.dispatch pointwise "first"{{.*}}args = array<i64: 1024, 0>}
// CHECK: kernel.dispatch pointwise "second"{{.*}}args = array<i64: 0, 0>, in_place = array<i64: 0>
// CHECK: kernel.dispatch pointwise "third"{{.*}}args = array<i64: 0, 0>, in_place = array<i64: 0>
func.func @chain(%x: tensor<4xf32>) -> tensor<64x4xf32> {
  %0 = kernel.dispatch pointwise "first" (%x) : (tensor<4xf32>) -> tensor<64x4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %r = graph.broadcast %a : tensor<4xf32> to tensor<64x4xf32>
    kernel.yield %r : tensor<64x4xf32>
  }
  %1 = kernel.dispatch pointwise "second" (%0) {may_reuse = [array<i64: 0>]} : (tensor<64x4xf32>) -> tensor<64x4xf32> {
  ^bb0(%a: tensor<64x4xf32>):
    %r = graph.exp %a : tensor<64x4xf32>
    kernel.yield %r : tensor<64x4xf32>
  }
  %2 = kernel.dispatch pointwise "third" (%1) {may_reuse = [array<i64: 0>]} : (tensor<64x4xf32>) -> tensor<64x4xf32> {
  ^bb0(%a: tensor<64x4xf32>):
    %r = graph.neg %a : tensor<64x4xf32>
    kernel.yield %r : tensor<64x4xf32>
  }
  return %2 : tensor<64x4xf32>
}

// -----
// Without permission two buffers are used in turns.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 2048,
// CHECK: kernel.dispatch pointwise "first"{{.*}}args = array<i64: 1024, 0>}
// CHECK: kernel.dispatch pointwise "second"{{.*}}args = array<i64: 0, 1024>}
// CHECK: kernel.dispatch pointwise "third"{{.*}}args = array<i64: 1024, 0>, may_reuse = [array<i64>]}
func.func @forbidden(%x: tensor<4xf32>) -> tensor<64x4xf32> {
  %0 = kernel.dispatch pointwise "first" (%x) : (tensor<4xf32>) -> tensor<64x4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %r = graph.broadcast %a : tensor<4xf32> to tensor<64x4xf32>
    kernel.yield %r : tensor<64x4xf32>
  }
  %1 = kernel.dispatch pointwise "second" (%0) : (tensor<64x4xf32>) -> tensor<64x4xf32> {
  ^bb0(%a: tensor<64x4xf32>):
    %r = graph.exp %a : tensor<64x4xf32>
    kernel.yield %r : tensor<64x4xf32>
  }
  %2 = kernel.dispatch pointwise "third" (%1) {may_reuse = [array<i64>]} : (tensor<64x4xf32>) -> tensor<64x4xf32> {
  ^bb0(%a: tensor<64x4xf32>):
    %r = graph.neg %a : tensor<64x4xf32>
    kernel.yield %r : tensor<64x4xf32>
  }
  return %2 : tensor<64x4xf32>
}

// -----
// An argument keeps its buffer: the caller may read it again.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 512,
// CHECK: kernel.dispatch pointwise "only"{{.*}}args = array<i64: 0, 256>, may_reuse
func.func @argument(%x: tensor<64xf32>) -> tensor<64xf32> {
  %0 = kernel.dispatch pointwise "only" (%x) {may_reuse = [array<i64: 0>]} : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>):
    %r = graph.exp %a : tensor<64xf32>
    kernel.yield %r : tensor<64xf32>
  }
  return %0 : tensor<64xf32>
}

// -----
// A value that is read later, or returned, keeps its buffer; the last reader takes it over.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 768,
// CHECK: kernel.dispatch pointwise "first"{{.*}}args = array<i64: 0, 256>}
// CHECK: kernel.dispatch pointwise "between"{{.*}}args = array<i64: 256, 0>, may_reuse
// CHECK: kernel.dispatch pointwise "last"{{.*}}args = array<i64: 256, 0, 256>, in_place = array<i64: 0>
// CHECK: kernel.dispatch pointwise "behind"{{.*}}args = array<i64: 256, 512>, may_reuse
func.func @lives_on(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %0 = kernel.dispatch pointwise "first" (%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>):
    %r = graph.exp %a : tensor<64xf32>
    kernel.yield %r : tensor<64xf32>
  }
  %1 = kernel.dispatch pointwise "between" (%0) {may_reuse = [array<i64: 0>]} : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>):
    %r = graph.neg %a : tensor<64xf32>
    kernel.yield %r : tensor<64xf32>
  }
  %2 = kernel.dispatch pointwise "last" (%0, %1) {may_reuse = [array<i64: 0, 1>]} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
    %r = graph.add %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    kernel.yield %r : tensor<64xf32>
  }
  %3 = kernel.dispatch pointwise "behind" (%2) {may_reuse = [array<i64: 0>]} : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>):
    %r = graph.tanh %a : tensor<64xf32>
    kernel.yield %r : tensor<64xf32>
  }
  return %1, %2, %3 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----
// A buffer is not taken over if two inputs are views of it. Through a single view it is.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 512,
// CHECK: kernel.dispatch pointwise "first"{{.*}}args = array<i64: 0, 256>}
// CHECK: kernel.dispatch pointwise "narrow"{{.*}}args = array<i64: 256, 0>}
// CHECK: kernel.dispatch pointwise "both"{{.*}}args = array<i64: 0, 0, 128>, may_reuse
// CHECK: kernel.dispatch pointwise "view"{{.*}}args = array<i64: 128, 128>, in_place = array<i64: 0>
func.func @views(%x: tensor<64xf32>) -> tensor<8x8xf16> {
  %0 = kernel.dispatch pointwise "first" (%x) : (tensor<64xf32>) -> tensor<64xf32> {
  ^bb0(%a: tensor<64xf32>):
    %r = graph.exp %a : tensor<64xf32>
    kernel.yield %r : tensor<64xf32>
  }
  %1 = kernel.dispatch pointwise "narrow" (%0) : (tensor<64xf32>) -> tensor<64xf16> {
  ^bb0(%a: tensor<64xf32>):
    %r = graph.cast %a : tensor<64xf32> to tensor<64xf16>
    kernel.yield %r : tensor<64xf16>
  }
  %v = graph.reshape %1 : tensor<64xf16> to tensor<8x8xf16>
  %2 = kernel.dispatch pointwise "both" (%1, %v) {may_reuse = [array<i64: 0, 1>]} : (tensor<64xf16>, tensor<8x8xf16>) -> tensor<64xf16> {
  ^bb0(%a: tensor<64xf16>, %b: tensor<8x8xf16>):
    %r = graph.neg %a : tensor<64xf16>
    kernel.yield %r : tensor<64xf16>
  }
  %u = graph.reshape %2 : tensor<64xf16> to tensor<8x8xf16>
  %3 = kernel.dispatch pointwise "view" (%u) {may_reuse = [array<i64: 0>]} : (tensor<8x8xf16>) -> tensor<8x8xf16> {
  ^bb0(%a: tensor<8x8xf16>):
    %r = graph.neg %a : tensor<8x8xf16>
    kernel.yield %r : tensor<8x8xf16>
  }
  return %3 : tensor<8x8xf16>
}

// -----
// Each of two results takes over a buffer of its own; the third result finds none left.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 1024,
// CHECK: kernel.dispatch pointwise "first"{{.*}}args = array<i64: 0, 256, 512>}
// CHECK: kernel.dispatch pointwise "second"{{.*}}args = array<i64: 256, 512, 256, 512, 0>, in_place = array<i64: 0, 1, -1>
// CHECK: kernel.dispatch pointwise "choosy"{{.*}}args = array<i64: 256, 512, 768, 256>, in_place = array<i64: -1, 0>
func.func @several(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %0:2 = kernel.dispatch pointwise "first" (%x) : (tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%a: tensor<64xf32>):
    %r = graph.exp %a : tensor<64xf32>
    %s = graph.neg %a : tensor<64xf32>
    kernel.yield %r, %s : tensor<64xf32>, tensor<64xf32>
  }
  %1:3 = kernel.dispatch pointwise "second" (%0#0, %0#1) {may_reuse = [array<i64: 0, 1>, array<i64: 0, 1>, array<i64: 0, 1>]} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
    %r = graph.add %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %s = graph.sub %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %t = graph.mul %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    kernel.yield %r, %s, %t : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
  }
  %2:2 = kernel.dispatch pointwise "choosy" (%1#0, %1#1) {may_reuse = [array<i64>, array<i64: 0>]} : (tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
  ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
    %r = graph.add %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    %s = graph.sub %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    kernel.yield %r, %s : tensor<64xf32>, tensor<64xf32>
  }
  return %1#2, %2#0, %2#1 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// -----
// This is an update in place: the weight and its momentum are computed where they are, and nothing is copied.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 768, state_bytes = 512, constant_bytes = 0, temporary_bytes = 256, peak_bytes = 768, saved_bytes = 0>}
// CHECK: kernel.dispatch pointwise "update"{{.*}}args = array<i64: 0, 256, 512, 0, 256>, in_place = array<i64: 0, 1>
// CHECK-NOT: "assign"
// CHECK-NOT: "save"
// CHECK: return
module {
  train.variable @w parameter : tensor<64xf32> = #train.fill<0.5 : f64>
  train.variable @m slot : tensor<64xf32> = #train.fill<0.0 : f64>
  func.func @momentum(%g: tensor<64xf32>) {
    %w = train.read @w : tensor<64xf32>
    %m = train.read @m : tensor<64xf32>
    %0:2 = kernel.dispatch pointwise "update" (%w, %m, %g) {may_reuse = [array<i64: 0, 1, 2>, array<i64: 0, 1, 2>]} : (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>, %c: tensor<64xf32>):
      %r = graph.add %b, %c : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      %s = graph.sub %a, %r : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      kernel.yield %s, %r : tensor<64xf32>, tensor<64xf32>
    }
    train.assign @w, %0#0 : tensor<64xf32>
    train.assign @m, %0#1 : tensor<64xf32>
    return
  }
}

// -----
// Where only the gradient's buffer may be reused, the weight is not written while it is read, and is copied at the end.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 768,
// CHECK: kernel.dispatch pointwise "update"{{.*}}args = array<i64: 0, 256, 512>, may_reuse
// CHECK: kernel.dispatch pointwise "assign"{{.*}}args = array<i64: 512, 0>
module {
  train.variable @w parameter : tensor<64xf32> = #train.fill<0.5 : f64>
  func.func @gradient_only(%g: tensor<64xf32>) {
    %w = train.read @w : tensor<64xf32>
    %0 = kernel.dispatch pointwise "update" (%w, %g) {may_reuse = [array<i64: 1>]} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
      %r = graph.sub %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      kernel.yield %r : tensor<64xf32>
    }
    train.assign @w, %0 : tensor<64xf32>
    return
  }
}

// -----
// A later launch reads the old weight, so that permission does not help; nor does it where the launch reads the weight by two views.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 1280,
// CHECK: kernel.dispatch pointwise "update"{{.*}}args = array<i64: 0, 512, 768>, may_reuse
// CHECK: kernel.dispatch pointwise "twice"{{.*}}args = array<i64: 256, 256, 512>, may_reuse
// CHECK: kernel.dispatch pointwise "old"{{.*}}args = array<i64: 0, 1024>}
// CHECK: kernel.dispatch pointwise "assign"{{.*}}args = array<i64: 768, 0>
// CHECK: kernel.dispatch pointwise "assign"{{.*}}args = array<i64: 512, 256>
module {
  train.variable @w parameter : tensor<64xf32> = #train.fill<0.5 : f64>
  train.variable @v parameter : tensor<64xf32> = #train.fill<0.5 : f64>
  func.func @not_in_place(%g: tensor<64xf32>) -> tensor<64xf32> {
    %w = train.read @w : tensor<64xf32>
    %v = train.read @v : tensor<64xf32>
    %u = graph.reshape %v : tensor<64xf32> to tensor<8x8xf32>
    %0 = kernel.dispatch pointwise "update" (%w, %g) {may_reuse = [array<i64: 0>]} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
      %r = graph.sub %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      kernel.yield %r : tensor<64xf32>
    }
    train.assign @w, %0 : tensor<64xf32>
    %1 = kernel.dispatch pointwise "twice" (%v, %u) {may_reuse = [array<i64: 0>]} : (tensor<64xf32>, tensor<8x8xf32>) -> tensor<64xf32> {
    ^bb0(%a: tensor<64xf32>, %b: tensor<8x8xf32>):
      %r = graph.neg %a : tensor<64xf32>
      kernel.yield %r : tensor<64xf32>
    }
    train.assign @v, %1 : tensor<64xf32>
    %2 = kernel.dispatch pointwise "old" (%w) : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%a: tensor<64xf32>):
      %r = graph.exp %a : tensor<64xf32>
      kernel.yield %r : tensor<64xf32>
    }
    return %2 : tensor<64xf32>
  }
}

// -----
// One value is assigned to two variables, so it is computed into the first and copied into the second.
// CHECK: module attributes {kernel.plan = #kernel.plan<arena_bytes = 768,
// CHECK: kernel.dispatch pointwise "update"{{.*}}args = array<i64: 0, 512, 0>, in_place = array<i64: 0>
// CHECK: train.assign @w
// CHECK: kernel.dispatch pointwise "assign"{{.*}}args = array<i64: 0, 256>
module {
  train.variable @w parameter : tensor<64xf32> = #train.fill<0.5 : f64>
  train.variable @average buffer : tensor<64xf32> = #train.fill<0.5 : f64>
  func.func @twice(%g: tensor<64xf32>) {
    %w = train.read @w : tensor<64xf32>
    %0 = kernel.dispatch pointwise "update" (%w, %g) {may_reuse = [array<i64: 0>]} : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%a: tensor<64xf32>, %b: tensor<64xf32>):
      %r = graph.sub %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
      kernel.yield %r : tensor<64xf32>
    }
    train.assign @w, %0 : tensor<64xf32>
    train.assign @average, %0 : tensor<64xf32>
    return
  }
}
