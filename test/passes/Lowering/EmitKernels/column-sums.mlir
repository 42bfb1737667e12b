// RUN: mpc-opt %s --mpc-plan-loops --mpc-emit-kernels | FileCheck %s --check-prefix=HOST
// RUN: mpc-opt %s --mpc-set-target=name=sm_80 --mpc-schedule --mpc-plan-loops --mpc-emit-kernels | FileCheck %s --check-prefix=GPU

// The sum and the sum of squares of each column go with the product. On the host the library adds the bias, and loops read its result, which is result 1, the call's last argument; on a GPU the
// kernel of the product leaves sums of parts of the rows in scratch, which a second kernel adds.
// HOST: kernel.dispatch contraction "fc"({{.*}}) {launches = [#kernel.launch<@kernels0::@k0 grid = 8, 1, 1 args = 4, 3, 5>], loops = #kernel.loops<columns 200x136 order = [0 by 20, 1 by 17]>}
// HOST: llvm.func @k0(
// HOST-NOT: llvm.func
// GPU: kernel.dispatch contraction "fc"
// GPU-SAME: launches = [#kernel.launch<@kernels0::@k0 {{.*}} args = 0, 1, -1, 2, 4>, #kernel.launch<@kernels0::@k0_columns {{.*}} args = -1, 3, 5>]
// GPU: llvm.func @k0(
// GPU: kernel.shuffle xor
// GPU: llvm.func @k0_columns(
func.func @statistics(%x: tensor<200x40xf16>, %w: tensor<40x136xf16>, %b: tensor<136xf16>) -> (tensor<136xf32>, tensor<200x136xf16>, tensor<136xf32>) {
  %0:3 = kernel.dispatch contraction "fc" (%x, %w, %b) : (tensor<200x40xf16>, tensor<40x136xf16>, tensor<136xf16>) -> (tensor<136xf32>, tensor<200x136xf16>, tensor<136xf32>) {
  ^bb0(%0: tensor<200x40xf16>, %1: tensor<40x136xf16>, %2: tensor<136xf16>):
    %p = graph.matmul %0, %1 : (tensor<200x40xf16>, tensor<40x136xf16>) -> tensor<200x136xf16>
    %y = graph.add %p, %2 : (tensor<200x136xf16>, tensor<136xf16>) -> tensor<200x136xf16>
    %f = graph.cast %y : tensor<200x136xf16> to tensor<200x136xf32>
    %q = graph.mul %f, %f : (tensor<200x136xf32>, tensor<200x136xf32>) -> tensor<200x136xf32>
    %s = graph.reduce_sum %f {axes = array<i64: 0>, keepdims = false} : (tensor<200x136xf32>) -> tensor<136xf32>
    %t = graph.reduce_sum %q {axes = array<i64: 0>, keepdims = false} : (tensor<200x136xf32>) -> tensor<136xf32>
    kernel.yield %s, %y, %t : tensor<136xf32>, tensor<200x136xf16>, tensor<136xf32>
  }
  return %0#0, %0#1, %0#2 : tensor<136xf32>, tensor<200x136xf16>, tensor<136xf32>
}
