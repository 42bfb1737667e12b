// RUN: mpc-opt %s --mpc-plan-loops --mpc-emit-kernels | FileCheck %s --check-prefix=HOST
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-schedule --mpc-plan-loops --mpc-emit-kernels | FileCheck %s --check-prefix=GPU

// A product without rows launches nothing, but the sums of its columns are zeros that have to be written.
// HOST: kernel.dispatch contraction "fc"{{.*}}launches = [#kernel.launch<@kernels0::@k0
// HOST: llvm.func @k0(
// HOST: llvm.store
// GPU: kernel.dispatch contraction "fc"{{.*}}launches = [#kernel.launch<@kernels0::@k0_columns grid = 1, 1, 1 args = 3>]
// GPU-NOT: llvm.func @k0(
// GPU: llvm.func @k0_columns(
// GPU: llvm.store
func.func @statistics(%x: tensor<0x40xf16>, %w: tensor<40x136xf16>) -> (tensor<0x136xf16>, tensor<136xf32>) {
  %0:2 = kernel.dispatch contraction "fc" (%x, %w) : (tensor<0x40xf16>, tensor<40x136xf16>) -> (tensor<0x136xf16>, tensor<136xf32>) {
  ^bb0(%0: tensor<0x40xf16>, %1: tensor<40x136xf16>):
    %p = graph.matmul %0, %1 : (tensor<0x40xf16>, tensor<40x136xf16>) -> tensor<0x136xf16>
    %f = graph.cast %p : tensor<0x136xf16> to tensor<0x136xf32>
    %s = graph.reduce_sum %f {axes = array<i64: 0>, keepdims = false} : (tensor<0x136xf32>) -> tensor<136xf32>
    kernel.yield %p, %s : tensor<0x136xf16>, tensor<136xf32>
  }
  return %0#0, %0#1 : tensor<0x136xf16>, tensor<136xf32>
}
