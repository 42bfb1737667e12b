// RUN: mpc-opt %s --mpc-set-target=name=sm_90a --mpc-emit-kernels --split-input-file --verify-diagnostics

func.func @none(%x: tensor<8x8xf32>) {
  // expected-error@+2 {{this dispatch has no schedule}}
  // expected-note@+1 {{hint: run mpc-schedule before kernels are emitted}}
  %r = kernel.dispatch contraction "none" (%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%0: tensor<8x8xf32>):
    %h = graph.matmul %0, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %h : tensor<8x8xf32>
  }
  return
}

// -----

// This is a schedule of 16-bit floats. A schedule that was made for another GPU, or changed since, is noticed where the kernel is emitted.
func.func @other(%x: tensor<8x8xf32>) {
  // expected-error@+2 {{'mma 128x128x32 stages=4' is no schedule of this problem on sm_90a}}
  // expected-note-re@+1 {{hint: take one of its own, as 'simt {{.*}}', or leave the choice to mpc-schedule}}
  %r = kernel.dispatch contraction "other" (%x) {schedule = #kernel.contraction<mma 128x128x32 stages=4>} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%0: tensor<8x8xf32>):
    %h = graph.matmul %0, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    kernel.yield %h : tensor<8x8xf32>
  }
  return
}
