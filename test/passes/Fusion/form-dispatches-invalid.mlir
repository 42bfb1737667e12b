// RUN: mpc-opt %s --mpc-form-dispatches --split-input-file --verify-diagnostics

// A call is no part of any launch, so fusion does not see that the two that share the loads of %x wait for each other through it.
func.func private @between(tensor<64x64xf32>) -> tensor<64x64xf32>
// expected-error@+2 {{launches of this entry would wait for one another: this is a defect of mpc}}
// expected-note@+1 {{hint: report it with the model}}
func.func @through_a_call(%x: tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = graph.exp %x : tensor<64x64xf32>
  %1 = func.call @between(%0) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = graph.add %x, %1 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0, %2 : tensor<64x64xf32>, tensor<64x64xf32>
}
