// RUN: mpc-opt %s --cse --canonicalize | FileCheck %s

// Without places a dispatch is pure: of the three the second equals the first, and nobody reads the third.
// CHECK-LABEL: func.func @pure
// CHECK-COUNT-1: kernel.dispatch
// CHECK-NOT: kernel.dispatch
// CHECK: return %[[Y:[0-9]+]], %[[Y]] :
func.func @pure(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %0 = kernel.dispatch pointwise "exp" (%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %e = graph.exp %a : tensor<16xf32>
    kernel.yield %e : tensor<16xf32>
  }
  %1 = kernel.dispatch pointwise "exp" (%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %e = graph.exp %a : tensor<16xf32>
    kernel.yield %e : tensor<16xf32>
  }
  %2 = kernel.dispatch pointwise "tanh" (%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %e = graph.tanh %a : tensor<16xf32>
    kernel.yield %e : tensor<16xf32>
  }
  return %0, %1 : tensor<16xf32>, tensor<16xf32>
}

// With places each of them writes the arena.
// CHECK-LABEL: func.func @placed
// CHECK-COUNT-3: kernel.dispatch
// CHECK: return
func.func @placed(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %0 = kernel.dispatch pointwise "exp" (%x) {args = array<i64: 0, 64>} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %e = graph.exp %a : tensor<16xf32>
    kernel.yield %e : tensor<16xf32>
  }
  %1 = kernel.dispatch pointwise "exp" (%x) {args = array<i64: 0, 64>} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %e = graph.exp %a : tensor<16xf32>
    kernel.yield %e : tensor<16xf32>
  }
  %2 = kernel.dispatch pointwise "tanh" (%x) {args = array<i64: 0, 128>} : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %e = graph.tanh %a : tensor<16xf32>
    kernel.yield %e : tensor<16xf32>
  }
  return %0, %1 : tensor<16xf32>, tensor<16xf32>
}

// A scan has the effects of its body.
// CHECK-LABEL: func.func @pure_scan
// CHECK-NOT: graph.scan
// CHECK-LABEL: func.func @placed_scan
// CHECK: graph.scan
// CHECK: kernel.dispatch
func.func @pure_scan(%h: tensor<16xf32>) {
  %last = graph.scan 5 carry(%h : tensor<16xf32>) -> (tensor<16xf32>) {
  ^bb0(%hb: tensor<16xf32>):
    %1 = kernel.dispatch pointwise "exp" (%hb) : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%a: tensor<16xf32>):
      %e = graph.exp %a : tensor<16xf32>
      kernel.yield %e : tensor<16xf32>
    }
    graph.scan_yield %1 : tensor<16xf32>
  }
  return
}
func.func @placed_scan(%h: tensor<16xf32>) {
  %last = graph.scan 5 carry(%h : tensor<16xf32>) -> (tensor<16xf32>) {
  ^bb0(%hb: tensor<16xf32>):
    %1 = kernel.dispatch pointwise "exp" (%hb) {args = array<i64: 0, 0>, in_place = array<i64: 0>} : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%a: tensor<16xf32>):
      %e = graph.exp %a : tensor<16xf32>
      kernel.yield %e : tensor<16xf32>
    }
    graph.scan_yield %1 : tensor<16xf32>
  }
  return
}

// A batch yields the results of each of its members, equal ones too. The batch itself is pure.
// CHECK-LABEL: func.func @members
// CHECK: kernel.dispatch batch "both"
// CHECK-COUNT-2: kernel.dispatch pointwise "exp"
// CHECK-NOT: kernel.dispatch
func.func @members(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  %0:2 = kernel.dispatch batch "both" (%x) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  ^bb0(%a: tensor<16xf32>):
    %1 = kernel.dispatch pointwise "exp" (%a) : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%b: tensor<16xf32>):
      %e = graph.exp %b : tensor<16xf32>
      kernel.yield %e : tensor<16xf32>
    }
    %2 = kernel.dispatch pointwise "exp" (%a) : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%b: tensor<16xf32>):
      %e = graph.exp %b : tensor<16xf32>
      kernel.yield %e : tensor<16xf32>
    }
    kernel.yield %1, %2 : tensor<16xf32>, tensor<16xf32>
  }
  %3:2 = kernel.dispatch batch "unread" (%x) : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>) {
  ^bb0(%a: tensor<16xf32>):
    %1 = kernel.dispatch pointwise "exp" (%a) : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%b: tensor<16xf32>):
      %e = graph.exp %b : tensor<16xf32>
      kernel.yield %e : tensor<16xf32>
    }
    %2 = kernel.dispatch pointwise "tanh" (%a) : (tensor<16xf32>) -> tensor<16xf32> {
    ^bb0(%b: tensor<16xf32>):
      %e = graph.tanh %b : tensor<16xf32>
      kernel.yield %e : tensor<16xf32>
    }
    kernel.yield %1, %2 : tensor<16xf32>, tensor<16xf32>
  }
  return %0#0, %0#1 : tensor<16xf32>, tensor<16xf32>
}
