// RUN: mpc-opt %s --mpc-set-target=name=sm_89 --mpc-schedule --mpc-emit-kernels --verify-diagnostics

func.func @older(%x: tensor<32x32xf8E4M3FN>) {
  %y = kernel.dispatch contraction "older" (%x) : (tensor<32x32xf8E4M3FN>) -> tensor<32x32xf16> {
  ^bb0(%0: tensor<32x32xf8E4M3FN>):
    // expected-error@+2 {{products of 8-bit floats have no kernel for sm_89}}
    // expected-note@+1 {{hint: compile for sm_90a, or cast the factors to 16 bits}}
    %h = graph.matmul %0, %0 {transpose_b} : (tensor<32x32xf8E4M3FN>, tensor<32x32xf8E4M3FN>) -> tensor<32x32xf16>
    kernel.yield %h : tensor<32x32xf16>
  }
  return
}
