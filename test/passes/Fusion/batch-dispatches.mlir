// RUN: mpc-opt %s --mpc-batch-dispatches | FileCheck %s

// Both updates move to where the second stood, after the flag that both read.
train.variable @a parameter : tensor<8xf32> = dense<0.0> : tensor<8xf32>
train.variable @b parameter : tensor<4x4xf32> = dense<0.0> : tensor<4x4xf32>

// CHECK-LABEL: func.func @independent
// CHECK-SAME: (%[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<4x4xf32>)
// CHECK: %[[FLAG:.*]] = kernel.dispatch reduction "flag"
// CHECK-NOT: kernel.dispatch pointwise "first"
// CHECK: %[[BATCH:.*]]:2 = kernel.dispatch batch "second and 1 more"(%{{.*}}, %[[X]], %[[FLAG]], %{{.*}}, %[[Y]])
// CHECK: ^bb0(%[[A:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>, %[[C:.*]]: tensor<f32>, %[[D:.*]]: tensor<4x4xf32>, %[[E:.*]]: tensor<4x4xf32>):
// CHECK: %[[FIRST:.*]] = kernel.dispatch pointwise "first"(%[[A]], %[[B]], %[[C]])
// CHECK: %[[SECOND:.*]] = kernel.dispatch pointwise "second"(%[[D]], %[[E]], %[[C]])
// CHECK: kernel.yield %[[FIRST]], %[[SECOND]]
// CHECK: train.assign @a, %[[BATCH]]#0
// CHECK: train.assign @b, %[[BATCH]]#1
func.func @independent(%x: tensor<8xf32>, %y: tensor<4x4xf32>) {
  %a = train.read @a : tensor<8xf32>
  %b = train.read @b : tensor<4x4xf32>
  %flag = kernel.dispatch reduction "flag" (%x) : (tensor<8xf32>) -> tensor<f32> {
  ^bb0(%c: tensor<8xf32>):
    %0 = graph.reduce_sum %c {axes = array<i64: 0>, keepdims = false} : (tensor<8xf32>) -> tensor<f32>
    kernel.yield %0 : tensor<f32>
  }
  %na = kernel.dispatch pointwise "first" (%a, %x, %flag) : (tensor<8xf32>, tensor<8xf32>, tensor<f32>) -> tensor<8xf32> {
  ^bb0(%c: tensor<8xf32>, %d: tensor<8xf32>, %e: tensor<f32>):
    %0 = graph.mul %d, %e : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
    %1 = graph.add %c, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    kernel.yield %1 : tensor<8xf32>
  }
  train.assign @a, %na : tensor<8xf32>
  %nb = kernel.dispatch pointwise "second" (%b, %y, %flag) : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32> {
  ^bb0(%c: tensor<4x4xf32>, %d: tensor<4x4xf32>, %e: tensor<f32>):
    %0 = graph.mul %d, %e : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
    %1 = graph.add %c, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    kernel.yield %1 : tensor<4x4xf32>
  }
  train.assign @b, %nb : tensor<4x4xf32>
  return
}

// Chains go as far down as they may: the second links meet, and so do the first ones.
// CHECK-LABEL: func.func @chains
// CHECK: %[[FIRST:.*]]:2 = kernel.dispatch batch "y0 and 1 more"
// CHECK: %[[SECOND:.*]]:2 = kernel.dispatch batch "y1 and 1 more"(%[[FIRST]]#0, %[[FIRST]]#1)
// CHECK: return %[[SECOND]]#0, %[[SECOND]]#1
func.func @chains(%x: tensor<8xf32>, %y: tensor<16xf32>) -> (tensor<8xf32>, tensor<16xf32>) {
  %x0 = kernel.dispatch pointwise "x0" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%c0: tensor<8xf32>):
    %0 = graph.relu %c0 : tensor<8xf32>
    kernel.yield %0 : tensor<8xf32>
  }
  %x1 = kernel.dispatch pointwise "x1" (%x0) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%c0: tensor<8xf32>):
    %0 = graph.relu %c0 : tensor<8xf32>
    kernel.yield %0 : tensor<8xf32>
  }
  %y0 = kernel.dispatch pointwise "y0" (%y) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%c0: tensor<16xf32>):
    %0 = graph.relu %c0 : tensor<16xf32>
    kernel.yield %0 : tensor<16xf32>
  }
  %y1 = kernel.dispatch pointwise "y1" (%y0) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%c0: tensor<16xf32>):
    %0 = graph.relu %c0 : tensor<16xf32>
    kernel.yield %0 : tensor<16xf32>
  }
  return %x1, %y1 : tensor<8xf32>, tensor<16xf32>
}

// The sum of %x0 stays, because it would keep %x0 alive while %z and %z0 are, and no launch has so much alive.
// CHECK-LABEL: func.func @memory
// CHECK: kernel.dispatch pointwise "x0"
// CHECK: kernel.dispatch reduction "sumx"
// CHECK: kernel.dispatch pointwise "z0"
// CHECK: kernel.dispatch reduction "sumz"
func.func @memory(%x: tensor<65536xf32>, %z: tensor<131072xf32>) -> (tensor<f32>, tensor<f32>) {
  %x0 = kernel.dispatch pointwise "x0" (%x) : (tensor<65536xf32>) -> tensor<65536xf32> {
  ^bb0(%c0: tensor<65536xf32>):
    %0 = graph.relu %c0 : tensor<65536xf32>
    kernel.yield %0 : tensor<65536xf32>
  }
  %sx = kernel.dispatch reduction "sumx" (%x0) : (tensor<65536xf32>) -> tensor<f32> {
  ^bb0(%c: tensor<65536xf32>):
    %0 = graph.reduce_sum %c {axes = array<i64: 0>, keepdims = false} : (tensor<65536xf32>) -> tensor<f32>
    kernel.yield %0 : tensor<f32>
  }
  %z0 = kernel.dispatch pointwise "z0" (%z) : (tensor<131072xf32>) -> tensor<131072xf32> {
  ^bb0(%c0: tensor<131072xf32>):
    %0 = graph.relu %c0 : tensor<131072xf32>
    kernel.yield %0 : tensor<131072xf32>
  }
  %sz = kernel.dispatch reduction "sumz" (%z0) : (tensor<131072xf32>) -> tensor<f32> {
  ^bb0(%c: tensor<131072xf32>):
    %0 = graph.reduce_sum %c {axes = array<i64: 0>, keepdims = false} : (tensor<131072xf32>) -> tensor<f32>
    kernel.yield %0 : tensor<f32>
  }
  return %sx, %sz : tensor<f32>, tensor<f32>
}

// Here no more would be alive than before, so it moves.
// CHECK-LABEL: func.func @enough
// CHECK: kernel.dispatch batch "sumz and 1 more"
func.func @enough(%x: tensor<65536xf32>, %z: tensor<65536xf32>) -> (tensor<f32>, tensor<f32>) {
  %x0 = kernel.dispatch pointwise "x0" (%x) : (tensor<65536xf32>) -> tensor<65536xf32> {
  ^bb0(%c0: tensor<65536xf32>):
    %0 = graph.relu %c0 : tensor<65536xf32>
    kernel.yield %0 : tensor<65536xf32>
  }
  %sx = kernel.dispatch reduction "sumx" (%x0) : (tensor<65536xf32>) -> tensor<f32> {
  ^bb0(%c: tensor<65536xf32>):
    %0 = graph.reduce_sum %c {axes = array<i64: 0>, keepdims = false} : (tensor<65536xf32>) -> tensor<f32>
    kernel.yield %0 : tensor<f32>
  }
  %z0 = kernel.dispatch pointwise "z0" (%z) : (tensor<65536xf32>) -> tensor<65536xf32> {
  ^bb0(%c0: tensor<65536xf32>):
    %0 = graph.relu %c0 : tensor<65536xf32>
    kernel.yield %0 : tensor<65536xf32>
  }
  %sz = kernel.dispatch reduction "sumz" (%z0) : (tensor<65536xf32>) -> tensor<f32> {
  ^bb0(%c: tensor<65536xf32>):
    %0 = graph.reduce_sum %c {axes = array<i64: 0>, keepdims = false} : (tensor<65536xf32>) -> tensor<f32>
    kernel.yield %0 : tensor<f32>
  }
  return %sx, %sz : tensor<f32>, tensor<f32>
}

// A dispatch that reads a variable joins no batch in which, or behind which, another one computes into the variable.
// CHECK-LABEL: func.func @variable
// CHECK: kernel.dispatch pointwise "read"
// CHECK: kernel.dispatch pointwise "write"
func.func @variable(%y: tensor<8xf32>) -> tensor<8xf32> {
  %a = train.read @a : tensor<8xf32>
  %x0 = kernel.dispatch pointwise "read" (%a) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%c0: tensor<8xf32>):
    %0 = graph.relu %c0 : tensor<8xf32>
    kernel.yield %0 : tensor<8xf32>
  }
  %y0 = kernel.dispatch pointwise "write" (%y) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%c0: tensor<8xf32>):
    %0 = graph.relu %c0 : tensor<8xf32>
    kernel.yield %0 : tensor<8xf32>
  }
  train.assign @a, %y0 : tensor<8xf32>
  return %x0 : tensor<8xf32>
}

// It joins one that comes before.
// CHECK-LABEL: func.func @variable_read_before
// CHECK: kernel.dispatch batch "other and 1 more"
// CHECK: kernel.dispatch pointwise "read"
// CHECK: kernel.dispatch pointwise "write"
// CHECK-NOT: kernel.dispatch batch
func.func @variable_read_before(%y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = train.read @a : tensor<8xf32>
  %x0 = kernel.dispatch pointwise "read" (%a) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%c0: tensor<8xf32>):
    %0 = graph.relu %c0 : tensor<8xf32>
    kernel.yield %0 : tensor<8xf32>
  }
  %z0 = kernel.dispatch pointwise "other" (%y) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%c0: tensor<8xf32>):
    %0 = graph.exp %c0 : tensor<8xf32>
    kernel.yield %0 : tensor<8xf32>
  }
  %y0 = kernel.dispatch pointwise "write" (%z0) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%c0: tensor<8xf32>):
    %0 = graph.relu %c0 : tensor<8xf32>
    kernel.yield %0 : tensor<8xf32>
  }
  train.assign @a, %y0 : tensor<8xf32>
  return %x0, %z0 : tensor<8xf32>, tensor<8xf32>
}

// Views come after the batch that computes what they view.
// CHECK-LABEL: func.func @views
// CHECK: %[[BATCH:.*]]:2 = kernel.dispatch batch "y0 and 1 more"
// CHECK-NEXT: ^bb0
// CHECK: graph.reshape %[[BATCH]]#0
func.func @views(%x: tensor<8xf32>, %y: tensor<16xf32>) -> (tensor<2x4xf32>, tensor<16xf32>) {
  %x0 = kernel.dispatch pointwise "x0" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%c0: tensor<8xf32>):
    %0 = graph.relu %c0 : tensor<8xf32>
    kernel.yield %0 : tensor<8xf32>
  }
  %view = graph.reshape %x0 : tensor<8xf32> to tensor<2x4xf32>
  %y0 = kernel.dispatch pointwise "y0" (%y) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%c0: tensor<16xf32>):
    %0 = graph.relu %c0 : tensor<16xf32>
    kernel.yield %0 : tensor<16xf32>
  }
  return %view, %y0 : tensor<2x4xf32>, tensor<16xf32>
}

// A dispatch whose results are empty is not launched, so it stays alone.
// CHECK-LABEL: func.func @empty
// CHECK: kernel.dispatch pointwise "empty"
// CHECK: kernel.dispatch batch "z0 and 1 more"
func.func @empty(%x: tensor<0x4xf32>, %y: tensor<8xf32>, %z: tensor<16xf32>) -> (tensor<0x4xf32>, tensor<8xf32>, tensor<16xf32>) {
  %x0 = kernel.dispatch pointwise "empty" (%x) : (tensor<0x4xf32>) -> tensor<0x4xf32> {
  ^bb0(%c0: tensor<0x4xf32>):
    %0 = graph.relu %c0 : tensor<0x4xf32>
    kernel.yield %0 : tensor<0x4xf32>
  }
  %y0 = kernel.dispatch pointwise "y0" (%y) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%c0: tensor<8xf32>):
    %0 = graph.relu %c0 : tensor<8xf32>
    kernel.yield %0 : tensor<8xf32>
  }
  %z0 = kernel.dispatch pointwise "z0" (%z) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%c0: tensor<16xf32>):
    %0 = graph.relu %c0 : tensor<16xf32>
    kernel.yield %0 : tensor<16xf32>
  }
  return %x0, %y0, %z0 : tensor<0x4xf32>, tensor<8xf32>, tensor<16xf32>
}

// A GPU kernel is no entry.
// CHECK-LABEL: llvm.func @kernel(%arg0: !llvm.ptr<1>)
llvm.func @kernel(%x: !llvm.ptr<1>) {
  %0 = llvm.load %x : !llvm.ptr<1> -> i32
  llvm.return
}

// A barrier on a member's result waits for a value that comes behind the batch: it stays where it is.
// CHECK-LABEL: func.func @barrier
// CHECK: %[[BATCH:.*]]:2 = kernel.dispatch batch "second and 1 more"
// CHECK: %[[LARGE:.*]] = kernel.dispatch contraction "later"
// CHECK: graph.barrier %[[BATCH]]#0 after(%[[LARGE]]
func.func @barrier(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %a = kernel.dispatch pointwise "first" (%x) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%c: tensor<4x4xf32>):
    %0 = graph.exp %c : tensor<4x4xf32>
    kernel.yield %0 : tensor<4x4xf32>
  }
  %b = kernel.dispatch pointwise "second" (%y) : (tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%c: tensor<4x4xf32>):
    %0 = graph.exp %c : tensor<4x4xf32>
    kernel.yield %0 : tensor<4x4xf32>
  }
  %later = kernel.dispatch contraction "later" (%b, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%c: tensor<4x4xf32>, %d: tensor<4x4xf32>):
    %0 = graph.matmul %c, %d : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    kernel.yield %0 : tensor<4x4xf32>
  }
  %waits = graph.barrier %a after(%later : tensor<4x4xf32>) {number = 0 : i64} : tensor<4x4xf32>
  %last = kernel.dispatch contraction "last" (%waits, %later) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32> {
  ^bb0(%c: tensor<4x4xf32>, %d: tensor<4x4xf32>):
    %0 = graph.matmul %c, %d : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    kernel.yield %0 : tensor<4x4xf32>
  }
  return %later, %last : tensor<4x4xf32>, tensor<4x4xf32>
}

// Each iteration of a scan launches its body: two concatenations of the same gates are one launch, although more values live until there.
// CHECK-LABEL: func.func @iterations
// CHECK: graph.scan 3
// CHECK: kernel.dispatch pointwise "gates"
// CHECK: %[[BOTH:.*]]:2 = kernel.dispatch batch "second and 1 more"
// CHECK: graph.scan_yield %{{.*}}, %[[BOTH]]#0, %[[BOTH]]#1
func.func @iterations(%x: tensor<2048xf32>) -> (tensor<2048xf32>, tensor<3x4096xf32>, tensor<3x4096xf32>) {
  %h, %a, %b = graph.scan 3 carry(%x : tensor<2048xf32>) -> (tensor<2048xf32>) stack(tensor<3x4096xf32>, tensor<3x4096xf32>) {
  ^bb0(%c: tensor<2048xf32>):
    %g:3 = kernel.dispatch pointwise "gates" (%c) : (tensor<2048xf32>) -> (tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>) {
    ^bb1(%d: tensor<2048xf32>):
      %0 = graph.relu %d : tensor<2048xf32>
      %1 = graph.neg %d : tensor<2048xf32>
      %2 = graph.exp %d : tensor<2048xf32>
      kernel.yield %0, %1, %2 : tensor<2048xf32>, tensor<2048xf32>, tensor<2048xf32>
    }
    %p = kernel.dispatch pointwise "first" (%g#0, %g#1) : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<4096xf32> {
    ^bb1(%d: tensor<2048xf32>, %e: tensor<2048xf32>):
      %0 = graph.concat %d, %e {axis = 0 : i64} : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<4096xf32>
      kernel.yield %0 : tensor<4096xf32>
    }
    %q = kernel.dispatch pointwise "second" (%g#0, %g#2) : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<4096xf32> {
    ^bb1(%d: tensor<2048xf32>, %e: tensor<2048xf32>):
      %0 = graph.concat %d, %e {axis = 0 : i64} : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<4096xf32>
      kernel.yield %0 : tensor<4096xf32>
    }
    graph.scan_yield %g#0, %p, %q : tensor<2048xf32>, tensor<4096xf32>, tensor<4096xf32>
  }
  return %h, %a, %b : tensor<2048xf32>, tensor<3x4096xf32>, tensor<3x4096xf32>
}

// What reads a carried value does not move behind what computes the next one, nor into its launch: the value would have to be copied.
// CHECK-LABEL: func.func @carried_is_read_first
// CHECK-NOT: batch
func.func @carried_is_read_first(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<3x8xf32>) {
  %h, %s = graph.scan 3 carry(%x : tensor<8xf32>) -> (tensor<8xf32>) stack(tensor<3x8xf32>) {
  ^bb0(%c: tensor<8xf32>):
    %p = kernel.dispatch pointwise "reads" (%c) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb1(%d: tensor<8xf32>):
      %0 = graph.exp %d : tensor<8xf32>
      kernel.yield %0 : tensor<8xf32>
    }
    %n = kernel.dispatch pointwise "next" (%c) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb1(%d: tensor<8xf32>):
      %0 = graph.relu %d : tensor<8xf32>
      kernel.yield %0 : tensor<8xf32>
    }
    graph.scan_yield %n, %p : tensor<8xf32>, tensor<8xf32>
  }
  return %h, %s : tensor<8xf32>, tensor<3x8xf32>
}

// Transposes of weights are moved to the start of the entry, where all that they read is in memory, also behind a view. So they share a launch with what stands there.
train.variable @w1 parameter : tensor<32xf32> = dense<0.0> : tensor<32xf32>
train.variable @w2 parameter : tensor<8x4xf32> = dense<0.0> : tensor<8x4xf32>
// CHECK-LABEL: func.func @weights
// CHECK: %[[B:.*]]:3 = kernel.dispatch batch "relu and 2 more"
// CHECK: %[[Y:.*]] = kernel.dispatch contraction "first"(%[[B]]#2, %[[B]]#0)
// CHECK: kernel.dispatch contraction "second"(%[[Y]], %[[B]]#1)
func.func @weights(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %r = kernel.dispatch pointwise "relu" (%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %0 = graph.relu %a : tensor<8x8xf32>
    kernel.yield %0 : tensor<8x8xf32>
  }
  %w1 = train.read @w1 : tensor<32xf32>
  %v1 = graph.reshape %w1 : tensor<32xf32> to tensor<4x8xf32>
  %t1 = kernel.dispatch pointwise "t1" (%v1) : (tensor<4x8xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %0 = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
    kernel.yield %0 : tensor<8x4xf32>
  }
  %y = kernel.dispatch contraction "first" (%r, %t1) : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x8xf32>, %b: tensor<8x4xf32>):
    %0 = graph.matmul %a, %b : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    kernel.yield %0 : tensor<8x4xf32>
  }
  %w2 = train.read @w2 : tensor<8x4xf32>
  %t2 = kernel.dispatch pointwise "t2" (%w2) : (tensor<8x4xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %0 = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
    kernel.yield %0 : tensor<4x8xf32>
  }
  %z = kernel.dispatch contraction "second" (%y, %t2) : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<4x8xf32>):
    %0 = graph.matmul %a, %b : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    kernel.yield %0 : tensor<8x8xf32>
  }
  return %z : tensor<8x8xf32>
}

// A view between the first dispatch and one that reads only a variable stays in front of its reader.
train.variable @big parameter : tensor<64x4xf32> = dense<0.0> : tensor<64x4xf32>
// CHECK-LABEL: func.func @view_behind_first
// CHECK: graph.reshape
// CHECK: kernel.dispatch batch "{{.*}} and 1 more"
func.func @view_behind_first() -> (tensor<4x8xf32>, tensor<16xf32>) {
  %w = train.read @w2 : tensor<8x4xf32>
  %b = train.read @big : tensor<64x4xf32>
  %t = kernel.dispatch pointwise "t" (%w) : (tensor<8x4xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<8x4xf32>):
    %0 = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
    kernel.yield %0 : tensor<4x8xf32>
  }
  %v = graph.reshape %b : tensor<64x4xf32> to tensor<16x16xf32>
  %s = kernel.dispatch reduction "s" (%v) : (tensor<16x16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16x16xf32>):
    %0 = graph.reduce_sum %a {axes = array<i64: 1>, keepdims = false} : (tensor<16x16xf32>) -> tensor<16xf32>
    kernel.yield %0 : tensor<16xf32>
  }
  return %t, %s : tensor<4x8xf32>, tensor<16xf32>
}
