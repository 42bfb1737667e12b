// RUN: mpc-opt %s --mpc-form-dispatches --split-input-file --verify-diagnostics

// A call is no part of any launch, so fusion does not see that the two that share the loads of %x wait for each other through it.
func.func private @between(tensor<64x64xf32>) -> tensor<64x64xf32>
func.func @through_a_call(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = graph.exp %x : tensor<64x64xf32>
  // expected-error@+2 {{'func.call' op is part of no launch, and launches of its entry would wait for one another through it}}
  // expected-note@+1 {{hint: remove it before mpc-form-dispatches: a call, for example, by inlining its function}}
  %1 = func.call @between(%0) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = graph.add %x, %1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0, %2 : tensor<64x64xf32>, tensor<64x64xf32>
}

// -----
func.func @formed_before(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.exp %x : tensor<4xf32>
  // expected-error@+2 {{'kernel.dispatch' op stands in an entry beside 'graph.exp', which is in no dispatch}}
  // expected-note@+1 {{hint: run mpc-form-dispatches on entries without dispatches; it forms all of an entry's at once}}
  %d = kernel.dispatch pointwise "neg" (%a) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%b: tensor<4xf32>):
    %c = graph.neg %b : tensor<4xf32>
    kernel.yield %c : tensor<4xf32>
  }
  return %d : tensor<4xf32>
}
