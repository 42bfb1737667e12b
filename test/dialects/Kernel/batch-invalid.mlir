// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @chain(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0:2 = kernel.dispatch batch "b" (%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %1 = kernel.dispatch pointwise "first" (%a) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%c: tensor<8xf32>):
      kernel.yield %c : tensor<8xf32>
    }
    // expected-error @+1 {{reads another member of its batch}}
    %2 = kernel.dispatch pointwise "second" (%1) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%c: tensor<8xf32>):
      kernel.yield %c : tensor<8xf32>
    }
    kernel.yield %1, %2 : tensor<8xf32>, tensor<8xf32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

// -----
func.func @loose(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0:2 = kernel.dispatch batch "b" (%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %1 = kernel.dispatch pointwise "first" (%a) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%c: tensor<8xf32>):
      kernel.yield %c : tensor<8xf32>
    }
    // expected-error @+1 {{is in a batch, which has dispatches that are loops}}
    %2 = graph.relu %a : tensor<8xf32>
    kernel.yield %1, %2 : tensor<8xf32>, tensor<8xf32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

// -----
func.func @order(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-error @+1 {{is a batch, which yields all results of its members in order}}
  %0:2 = kernel.dispatch batch "b" (%x) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<8xf32>):
    %1 = kernel.dispatch pointwise "first" (%a) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%c: tensor<8xf32>):
      kernel.yield %c : tensor<8xf32>
    }
    kernel.yield %1, %1 : tensor<8xf32>, tensor<8xf32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<8xf32>
}

// -----
func.func @behind(%x: tensor<8xf32>) {
  // expected-error @+1 {{holds a dispatch, but is no batch}}
  %0 = kernel.dispatch pointwise "b" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = graph.exp %a : tensor<8xf32>
    %2 = kernel.dispatch pointwise "m" (%a) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      %3 = graph.exp %b : tensor<8xf32>
      kernel.yield %3 : tensor<8xf32>
    }
    kernel.yield %2 : tensor<8xf32>
  }
  return
}

// -----
func.func @places(%x: tensor<8xf32>) {
  %0 = kernel.dispatch batch "b" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    // expected-error @+1 {{is a member of a batch, whose memory is planned as a whole, and has places of its own}}
    %2 = kernel.dispatch pointwise "m" (%a) {args = array<i64: 0, 64>} : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      %3 = graph.exp %b : tensor<8xf32>
      kernel.yield %3 : tensor<8xf32>
    }
    kernel.yield %2 : tensor<8xf32>
  }
  return
}

// -----
llvm.func @k(!llvm.ptr, i64, i64)
func.func @launches(%x: tensor<8xf32>) {
  %0 = kernel.dispatch batch "b" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    // expected-error @+1 {{is a member of a batch, which is launched as a whole, and has launches of its own}}
    %2 = kernel.dispatch pointwise "m" (%a) {launches = [#kernel.launch<@k grid = 1, 1, 1>]} : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      kernel.yield %b : tensor<8xf32>
    }
    kernel.yield %2 : tensor<8xf32>
  }
  return
}

// -----
func.func @contraction(%x: tensor<8x8xf32>) {
  %0 = kernel.dispatch batch "b" (%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    // expected-error @+1 {{is in a batch, which has dispatches that are loops}}
    %1 = kernel.dispatch contraction "m" (%a) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    ^bb0(%b: tensor<8x8xf32>):
      %2 = graph.matmul %b, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      kernel.yield %2 : tensor<8x8xf32>
    }
    kernel.yield %1 : tensor<8x8xf32>
  }
  return
}

// -----
func.func @reuse(%x: tensor<8xf32>) {
  %0 = kernel.dispatch batch "b" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    // expected-error @+1 {{is a member of a batch, whose memory is planned as a whole, and has places of its own}}
    %2 = kernel.dispatch pointwise "m" (%a) {may_reuse = [array<i64: 0>]} : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      kernel.yield %b : tensor<8xf32>
    }
    kernel.yield %2 : tensor<8xf32>
  }
  return
}

// -----
func.func @steps(%x: tensor<8xf32>) {
  %0 = kernel.dispatch batch "b" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    // expected-error @+1 {{is a member of a batch, whose memory is planned as a whole, and has places of its own}}
    %2 = kernel.dispatch pointwise "m" (%a) {arg_steps = array<i64: 0, 64>} : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      kernel.yield %b : tensor<8xf32>
    }
    kernel.yield %2 : tensor<8xf32>
  }
  return
}

// -----
func.func @schedule(%x: tensor<8xf32>) {
  %0 = kernel.dispatch batch "b" (%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    // expected-error @+1 {{has the schedule of a contraction, but is a loop dispatch}}
    %2 = kernel.dispatch pointwise "m" (%a) {schedule = #kernel.contraction<simt 32x32x16 stages=2>} : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%b: tensor<8xf32>):
      kernel.yield %b : tensor<8xf32>
    }
    kernel.yield %2 : tensor<8xf32>
  }
  return
}

// -----
func.func @empty(%x: tensor<8xf32>, %y: tensor<0x4xf32>) -> (tensor<8xf32>, tensor<0x4xf32>) {
  %0:2 = kernel.dispatch batch "b" (%x, %y) : (tensor<8xf32>, tensor<0x4xf32>) -> (tensor<8xf32>, tensor<0x4xf32>) {
  ^bb0(%a: tensor<8xf32>, %b: tensor<0x4xf32>):
    %1 = kernel.dispatch pointwise "first" (%a) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%c: tensor<8xf32>):
      kernel.yield %c : tensor<8xf32>
    }
    // expected-error @+1 {{is a member of a batch, which deals out blocks to it, and computes nothing}}
    %2 = kernel.dispatch pointwise "second" (%b) : (tensor<0x4xf32>) -> tensor<0x4xf32> {
    ^bb0(%c: tensor<0x4xf32>):
      kernel.yield %c : tensor<0x4xf32>
    }
    kernel.yield %1, %2 : tensor<8xf32>, tensor<0x4xf32>
  }
  return %0#0, %0#1 : tensor<8xf32>, tensor<0x4xf32>
}
